#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "sparse/histogram.hpp"
#include "sparse/study.hpp"

namespace vostok::sparse {
namespace {

constexpr double panel_width = 340;
constexpr double picture_height = 330;
constexpr double plot_left = 52;  // within a panel
constexpr double plot_width = 272;
constexpr double plot_top = 66;
constexpr double plot_height = 196;
constexpr double plot_bottom = plot_top + plot_height;

constexpr const char* style =
    "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}"
    ".title{font-size:15px;font-weight:bold}.axis{stroke:#222;stroke-width:1}.grid{stroke:#ddd;stroke-width:1}"
    ".bar{fill:#86aed6;stroke:#fff;stroke-width:.6}.median{stroke:#b4431f;stroke-width:1.5;stroke-dasharray:5 3}"
    ".marked{fill:#b4431f;stroke:#fff;stroke-width:3px;paint-order:stroke}.middle{text-anchor:middle}.end{text-anchor:"
    "end}";

struct Panel {
  const char* label;
  std::vector<double> values;
  double most;   // the axis ends here at the latest
  int decimals;  // of the median
};

class Plot {
 public:
  Plot(const Panel& panel, double left)
      : panel_(panel), left_(left + plot_left), histogram_(histogram_of(panel.values, panel.most)) {
    const auto highest = static_cast<double>(*std::max_element(histogram_.counts.begin(), histogram_.counts.end()));
    count_step_ = std::max(1.0, round_step(highest, 5));
    count_end_ = std::ceil(highest / count_step_) * count_step_;
  }

  std::string draw() const { return grid() + bars() + axes() + median(); }

 private:
  double x(double value) const {
    const auto place = [&](double of) { return histogram_.logarithmic ? std::log2(of) : of; };
    const double first = place(histogram_.edges.front()), last = place(histogram_.edges.back());
    return left_ + plot_width * (place(value) - first) / (last - first);
  }
  double y(double count) const { return plot_bottom - plot_height * count / count_end_; }

  static std::string line(const char* kind, double x1, double y1, double x2, double y2) {
    return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1, y1,
                       x2, y2);
  }
  static std::string text(const char* kind, double at_x, double at_y, const std::string& content) {
    return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kind, at_x, at_y, content);
  }

  std::string grid() const {
    std::string svg;
    for (double count = 0; count <= count_end_; count += count_step_) {
      svg += line("grid", left_, y(count), left_ + plot_width, y(count));
      svg += text("end", left_ - 6, y(count) + 4, fmt::format("{:.0f}", count));
    }
    return svg;
  }

  std::string bars() const {
    std::string svg;
    for (std::size_t bin = 0; bin < histogram_.counts.size(); ++bin) {
      const auto count = static_cast<double>(histogram_.counts[bin]);
      const double begin = x(histogram_.edges[bin]);
      svg += fmt::format(
          R"(<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{:.4g} to {:.4g}: {}</title></rect>)",
          begin, y(count), x(histogram_.edges[bin + 1]) - begin, plot_bottom - y(count), histogram_.edges[bin],
          histogram_.edges[bin + 1], histogram_.counts[bin]);
      svg += '\n';
    }
    return svg;
  }

  std::string axes() const {
    std::string svg = line("axis", left_, plot_bottom, left_ + plot_width, plot_bottom) +
                      line("axis", left_, plot_top, left_, plot_bottom);
    for (const double tick : histogram_.ticks) {
      svg += line("axis", x(tick), plot_bottom, x(tick), plot_bottom + 4);
      svg += text("middle", x(tick), plot_bottom + 18,
                  tick < 1 ? fmt::format("{:.3g}", tick) : fmt::format("{:.6g}", tick));
    }
    std::string label = panel_.label;
    if (histogram_.logarithmic) label += ", log scale";
    svg += text("middle", left_ + plot_width / 2, plot_bottom + 38, label);
    if (histogram_.left_out > 0)
      svg += text("middle", left_ + plot_width / 2, plot_bottom + 56,
                  fmt::format("not drawn: {} with 0", histogram_.left_out));
    return svg;
  }

  std::string median() const {
    const double value = spread_of(panel_.values).median;
    if (value < histogram_.edges.front() || value > histogram_.edges.back()) return "";  // 0 on a logarithmic axis
    const double at = x(value);
    const bool right_half = at > left_ + plot_width / 2;
    return line("median", at, plot_top - 4, at, plot_bottom) +
           text(right_half ? "marked end" : "marked", at + (right_half ? -5 : 5), plot_top - 8,
                fmt::format("median {:.{}f}", value, panel_.decimals));
  }

  const Panel& panel_;
  double left_;
  Histogram histogram_;
  double count_step_ = 1;
  double count_end_ = 1;
};

std::vector<Panel> panels_of(const std::vector<StudyEntry>& entries) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  std::vector<Panel> panels = {{"sparsity (% of elements that are zero)", {}, 100, 1},
                               {"mean row length (nonzeros)", {}, unlimited, 1},
                               {"row length CoV (deviation / mean)", {}, unlimited, 3}};
  for (const StudyEntry& entry : entries) {
    panels[0].values.push_back(100 * entry.statistics.sparsity());
    panels[1].values.push_back(entry.statistics.mean_row);
    panels[2].values.push_back(entry.statistics.row_variation);
  }
  return panels;
}

}  // namespace

std::string study_svg(const std::vector<StudyEntry>& entries) {
  const std::vector<Panel> panels = panels_of(entries);
  const double width = panel_width * static_cast<double>(panels.size());
  std::string svg =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">)", width,
                  picture_height);
  svg += fmt::format("\n<style>{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", style);
  svg += fmt::format(
      "<text class=\"title\" x=\"{}\" y=\"26\">Sparsity, mean row length and row length variation of {} {}</text>\n",
      plot_left, entries.size(), entries.size() == 1 ? "matrix" : "matrices");
  svg += fmt::format("<text class=\"middle\" transform=\"translate(16 {}) rotate(-90)\">number of matrices</text>\n",
                     plot_top + plot_height / 2);
  for (std::size_t i = 0; i < panels.size() && !entries.empty(); ++i)
    svg += Plot(panels[i], panel_width * static_cast<double>(i)).draw();
  return svg + "</svg>\n";
}

}  // namespace vostok::sparse
