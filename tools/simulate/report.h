// Tells what came of simulations.
#ifndef LEAT_TOOLS_SIMULATE_REPORT_H_
#define LEAT_TOOLS_SIMULATE_REPORT_H_

#include "simulate/simulation.h"

void report_print(const scenario_t* scenario, const outcome_t* outcome);
// A row of a table over values of |field|, below a heading.
void report_print_heading(const char* field);
void report_print_row(const char* value, const outcome_t* outcome, const scenario_t* scenario);
// One object, without a line's end.
void report_print_json(const scenario_t* scenario, const outcome_t* outcome);

#endif  // LEAT_TOOLS_SIMULATE_REPORT_H_
