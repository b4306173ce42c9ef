// Operand lists of inline assembly that names many registers: numbered places in the text, and an array's elements.
#pragma once

#define VOSTOK_PLACES_4 "%0, %1, %2, %3"
#define VOSTOK_PLACES_8 VOSTOK_PLACES_4 ", %4, %5, %6, %7"
#define VOSTOK_PLACES_16 VOSTOK_PLACES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define VOSTOK_PLACES_32                                                                                           \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, "                                                                                           \
  "%28, %29, %30, %31"
#define VOSTOK_PLACES_64                                                                                             \
  VOSTOK_PLACES_32                                                                                                   \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, " \
  "%54, %55, "                                                                                                       \
  "%56, %57, %58, %59, %60, %61, %62, %63"
#define VOSTOK_PLACES_128                                                                                              \
  VOSTOK_PLACES_64                                                                                                     \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, "   \
  "%86, %87, "                                                                                                         \
  "%88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, " \
  "%109, "                                                                                                             \
  "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define VOSTOK_SUMS_4(c, i) "+f"(c[i]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3])
#define VOSTOK_SUMS_8(c, i)                                                                             \
  "+f"(c[i]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3]), "+f"(c[(i) + 4]), "+f"(c[(i) + 5]), \
      "+f"(c[(i) + 6]), "+f"(c[(i) + 7])
#define VOSTOK_SUMS_16(c, i) VOSTOK_SUMS_8(c, i), VOSTOK_SUMS_8(c, (i) + 8)
#define VOSTOK_SUMS_32(c, i) \
  VOSTOK_SUMS_8(c, i), VOSTOK_SUMS_8(c, (i) + 8), VOSTOK_SUMS_8(c, (i) + 16), VOSTOK_SUMS_8(c, (i) + 24)
#define VOSTOK_SUMS_64(c, i) VOSTOK_SUMS_32(c, i), VOSTOK_SUMS_32(c, (i) + 32)
#define VOSTOK_SUMS_128(c, i) VOSTOK_SUMS_64(c, i), VOSTOK_SUMS_64(c, (i) + 64)
