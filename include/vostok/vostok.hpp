// Vostok: sparse kernels for deep learning, planned, generated, tuned and run. Include this.
#pragma once

#include <vostok/context.hpp>
#include <vostok/enums.hpp>
#include <vostok/error.hpp>
#include <vostok/packed.hpp>
#include <vostok/plan.hpp>
#include <vostok/prepare.hpp>
#include <vostok/problem.hpp>
#include <vostok/tools.hpp>
#include <vostok/topology.hpp>
