vostok signature 1 8a88
