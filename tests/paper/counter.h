// Counters: variables of a graph that tell which of its nodes have run, by nothing but the public C
// API; and variables as such, in one line.
#ifndef LEAT_TESTS_PAPER_COUNTER_H_
#define LEAT_TESTS_PAPER_COUNTER_H_

#include "capi/kit.h"

typedef struct variable_s {
  TF_Output handle;
  TF_Operation* initialize;  // to |start|
  TF_Output read;
} variable_t;

// A float scalar of that name. |container| and |shared_name| may be NULL.
variable_t paper_variable(TF_Graph* graph, const char* name, float start, const char* container,
                          const char* shared_name);
// Adds |amount| at each step that runs the operation.
TF_Operation* paper_add(TF_Graph* graph, const char* name, variable_t variable, float amount);

// |x| forwarded by a node that counts its runs in a variable of its own.
typedef struct counter_s {
  variable_t variable;
  TF_Output output;
} counter_t;
counter_t paper_counted(TF_Graph* graph, const char* name, TF_Output x);

TF_Operation* paper_after(TF_OperationDescription* desc, TF_Operation* control);  // and finishes

// Runs |targets| / fetches one float.
void paper_run(TF_Session* session, TF_Operation* target);
float paper_fetch(TF_Session* session, TF_Output output);
// Runs one step with a trace and counts "<name> = " (or " = <Op>(") in its statistics.
int paper_traced(TF_Session* session, const TF_Output* fetches, int count, const char* text);

#endif  // LEAT_TESTS_PAPER_COUNTER_H_
