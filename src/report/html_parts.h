// The parts of the HTML report, each a string of markup. A part whose share of the document is
// empty is empty. Layout and colours are in html_style.h.
#pragma once

#include <string>

#include "report/sweep_text.h"
#include "report/text_parts.h"

namespace pipesim::report {

/// The whole page around `body`. `title`: of the window, escaped like the body.
std::string HtmlPage(const std::string& title, const std::string& body);
/// Kind, name, date and host of a report.
std::string Kicker(View document);
/// The answer: the page's first line as the heading, the others below it.
std::string Answer(const Page& page);
/// Settings with their origin, program and machine.
std::string Origins(const Sheet& sheet);

std::string RunBody(const Sheet& sheet);
std::string SweepBody(const Sheet& sheet);
std::string SizeBody(const Sheet& sheet);
std::string TuneBody(const Sheet& sheet);
std::string CompareBody(const Document& document);
std::string BenchBody(const Document& document);

/// A stacked bar with the table of its parts.
std::string TimeFigure(const std::optional<TimeTable>& table);
/// Changes with predicted and tried gains.
std::string WhatIfFigure(View document);
/// Rates, queue and resources in rows that share the time axis.
std::string OverTimeFigure(View document);
/// How long steps took.
std::string StepHistogram(View document);

/// One axis: points with intervals. Two axes: a heat map and a map of verdicts.
std::string SweepFigure(View document, const SweepTable& table);

}  // namespace pipesim::report
