// Problems are values: the operation, sizes, precisions, layouts and epilogue. No pointers; those are in each problem's
// Arguments.
#pragma once

#include <vostok/attention.hpp>
#include <vostok/convolution.hpp>
#include <vostok/sddmm.hpp>
#include <vostok/softmax.hpp>
#include <vostok/spmm.hpp>
