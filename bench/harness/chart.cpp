#include "bench/harness/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace vostok::bench {

namespace {

constexpr double width = 720, height = 440, left = 72, right = 176, top = 56,
                 bottom = 56;  // margins hold axis labels and the legend
/// Colours of middle lightness, which contrast with white and with black.
constexpr std::array colours = {"#2f7de1", "#e07b10", "#1f9d5b", "#d9483b", "#8f63e8",
                                "#0f9aa8", "#d0529b", "#9a8a1c", "#7a828c"};
constexpr const char* text_colour = "#7a828c";

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
};

bool shown(double value, const Axis& axis) { return std::isfinite(value) && (!axis.logarithmic || value > 0); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&') result += "&amp;";
    else if (letter == '<') result += "&lt;";
    else if (letter == '>') result += "&gt;";
    else result += letter;
  }
  return result;
}

/// Maps values to positions along one axis.
class Scale {
 public:
  Scale(const Range& values, const Axis& axis, double from, double to)
      : ticks_(ticks(values.least, values.most, axis.logarithmic)),
        logarithmic_(axis.logarithmic),
        from_(from),
        to_(to) {}

  double at(double value) const {
    const double first = of(ticks_.front()), last = of(ticks_.back());
    return from_ + (of(value) - first) / (last - first) * (to_ - from_);
  }
  const std::vector<double>& marks() const { return ticks_; }

 private:
  double of(double value) const { return logarithmic_ ? std::log(value) : value; }

  std::vector<double> ticks_;
  bool logarithmic_;
  double from_;
  double to_;
};

std::string label(double x, double y, const char* anchor, int size, const std::string& text,
                  const std::string& more = {}) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y, anchor,
                     size, more, escaped(text));
}

std::string grid(const Chart& chart, const Scale& across, const Scale& up) {
  std::string svg = fmt::format("<g stroke=\"{}\" stroke-opacity=\"0.3\" stroke-width=\"1\">\n", text_colour);
  for (const double mark : across.marks())
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n", across.at(mark), top,
                       height - bottom);
  for (const double mark : up.marks())
    svg += fmt::format("<line x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>\n", up.at(mark), left,
                       width - right);
  svg += "</g>\n";
  for (const double mark : across.marks())
    svg += label(across.at(mark), height - bottom + 18, "middle", 12, fmt::format("{:g}", mark));
  for (const double mark : up.marks()) svg += label(left - 8, up.at(mark) + 4, "end", 12, fmt::format("{:g}", mark));
  svg += label((left + width - right) / 2, height - 14, "middle", 13, chart.x.label);
  const double middle = (top + height - bottom) / 2;
  return svg +
         label(18, middle, "middle", 13, chart.y.label, fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle));
}

std::string drawn(const Chart& chart, const Series& series, const char* colour, const Scale& across, const Scale& up) {
  std::string line, dots;
  for (const auto& [x, y] : series.points) {
    if (!shown(x, chart.x) || !shown(y, chart.y)) continue;
    line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", across.at(x), up.at(y));
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", across.at(x), up.at(y));
  }
  std::string svg = fmt::format("<g fill=\"{}\">\n{}</g>\n", colour, dots);
  if (series.joined && !line.empty())
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", line, colour);
  return svg;
}

}  // namespace

std::vector<double> ticks(double least, double most, bool logarithmic) {
  std::vector<double> marks;
  if (logarithmic) {
    constexpr double steps[] = {1, 2, 5};
    const int first = static_cast<int>(std::floor(std::log10(least)));
    for (int power = first;; ++power) {
      for (const double step : steps) {
        const double mark = step * std::pow(10.0, power);
        if (mark <= least * (1 + 1e-9)) marks.clear();  // only the last below counts
        marks.push_back(mark);
        if (mark >= most && marks.size() > 1) return marks;
      }
    }
  }
  const double span = most > least ? most - least : std::max(std::abs(most), 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(span / 5)));
  const double rest = span / 5 / power;
  const double step = power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
  const double first = std::floor(least / step + 1e-9);
  for (int i = 0;; ++i) {
    marks.push_back((first + i) * step);
    if (marks.back() >= most - step * 1e-9 && i > 0) return marks;
  }
}

std::string to_svg(const Chart& chart) {
  Range x, y;
  for (const Series& series : chart.series) {
    for (const auto& [point_x, point_y] : series.points) {
      if (!shown(point_x, chart.x) || !shown(point_y, chart.y)) continue;
      x = {std::min(x.least, point_x), std::max(x.most, point_x)};
      y = {std::min(y.least, point_y), std::max(y.most, point_y)};
    }
  }
  if (x.least > x.most) fail(ErrorCode::invalid_argument, "cannot draw \"{}\": it has no point", chart.title);
  if (!chart.y.logarithmic) y.least = std::min(y.least, 0.0);
  const Scale across(x, chart.x, left, width - right), up(y, chart.y, height - bottom, top);

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" fill=\"{2}\">\n",
      width, height, text_colour);
  svg += label(left, 22, "start", 16, chart.title, " font-weight=\"bold\"");
  svg += label(left, 42, "start", 12, chart.note);
  svg += grid(chart, across, up);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const char* const colour = colours[i % colours.size()];
    const double line = top + 8 + 20 * static_cast<double>(i);
    svg += drawn(chart, chart.series[i], colour, across, up);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", width - right + 14,
                       line - 6, colour);
    svg += label(width - right + 34, line, "start", 12, chart.series[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace vostok::bench
