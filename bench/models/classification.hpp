// A generated classification task, and what a network's logits [classes, samples] are worth on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sparse/generate.hpp"

namespace vostok::models {

/// Points around centres, a sample a column of `x`. Each class has three centres in different places, so that no linear
/// classifier separates them.
struct Task {
  std::int64_t inputs = 0;
  std::int64_t classes = 0;
  std::vector<float> x = {};             ///< [inputs, samples]
  std::vector<std::size_t> labels = {};  ///< of each sample

  std::int64_t samples() const { return static_cast<std::int64_t>(labels.size()); }
};

struct TaskShape {
  std::int64_t inputs = 0;
  std::int64_t classes = 0;
  std::int64_t samples = 0;
  float noise = 0.5F;  ///< deviation of a point from its centre; centres deviate by 1 from 0
};

/// Tasks with the same `centre_seed` differ in their samples only: one to learn from, one to be tested on.
inline Task make_task(const TaskShape& shape, std::uint64_t centre_seed, std::uint64_t sample_seed) {
  constexpr std::int64_t centres = 3;
  const std::vector<float> centre = sparse::normal_values(shape.classes * centres * shape.inputs, centre_seed);
  const std::vector<float> noise = sparse::normal_values(shape.samples * shape.inputs, sample_seed);
  Task task{.inputs = shape.inputs,
            .classes = shape.classes,
            .x = std::vector<float>(static_cast<std::size_t>(shape.inputs * shape.samples))};
  sparse::Random random(sample_seed + 1);
  for (std::int64_t s = 0; s < shape.samples; ++s) {
    const std::int64_t label = random.below(shape.classes);
    const std::int64_t place = label * centres + random.below(centres);
    task.labels.push_back(static_cast<std::size_t>(label));
    for (std::int64_t j = 0; j < shape.inputs; ++j)
      task.x[static_cast<std::size_t>(j * shape.samples + s)] =
          centre[static_cast<std::size_t>(place * shape.inputs + j)] +
          shape.noise * noise[static_cast<std::size_t>(s * shape.inputs + j)];
  }
  return task;
}

template <class Real>
struct CrossEntropy {
  double loss = 0;             ///< the mean over the samples
  std::vector<Real> gradient;  ///< of it, by the logits
};

template <class Real>
CrossEntropy<Real> cross_entropy(const std::vector<Real>& logits, const Task& task) {
  CrossEntropy<Real> result{.gradient = std::vector<Real>(logits.size())};
  const auto samples = static_cast<std::size_t>(task.samples());
  for (std::size_t s = 0; s < samples; ++s) {
    Real most = logits[s], sum = 0;
    for (std::size_t at = s; at < logits.size(); at += samples) most = std::max(most, logits[at]);
    for (std::size_t at = s; at < logits.size(); at += samples) sum += std::exp(logits[at] - most);
    for (std::size_t at = s; at < logits.size(); at += samples)
      result.gradient[at] = std::exp(logits[at] - most) / sum / static_cast<Real>(samples);
    const std::size_t right = task.labels[s] * samples + s;
    result.gradient[right] -= Real{1} / static_cast<Real>(samples);
    result.loss += static_cast<double>(most + std::log(sum) - logits[right]) / static_cast<double>(samples);
  }
  return result;
}

/// The share of samples whose largest logit is their label's.
template <class Real>
double accuracy(const std::vector<Real>& logits, const Task& task) {
  const auto samples = static_cast<std::size_t>(task.samples());
  std::size_t right = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    std::size_t best = s;
    for (std::size_t at = s; at < logits.size(); at += samples)
      if (logits[at] > logits[best]) best = at;
    right += best / samples == task.labels[s] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(samples);
}

}  // namespace vostok::models
