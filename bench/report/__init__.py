"""One page of everything that result files say: `./run report`."""
