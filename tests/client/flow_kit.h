// What the tests of leat/control_flow.h build with, over the running test's model kit: numbers are
// double, and every call must succeed.
#ifndef LEAT_TESTS_CLIENT_FLOW_KIT_H_
#define LEAT_TESTS_CLIENT_FLOW_KIT_H_

#include "client/model_kit.h"
#include "leat/control_flow.h"

TF_Output flow_constant(double value);
TF_Output flow_vector(double value);  // [1], as the variables of the tests are
TF_Output flow_unary(const char* op, TF_Output x);
TF_Output flow_binary(const char* op, TF_Output x, TF_Output y);
TF_Output flow_less(TF_Output x, TF_Output y);
TF_Output flow_add(TF_Output x, TF_Output y);
TF_Output flow_mul(TF_Output x, TF_Output y);

// A loop over |variables|, which its condition reads afterwards; then its body; then they are the
// exits.
leat_flow_context_t* flow_begin(const char* name, TF_Output* variables, int count);
void flow_body(leat_flow_context_t* loop, TF_Output condition, TF_Output* variables);
void flow_end(leat_flow_context_t* loop, TF_Output* variables, int count);
// A conditional with one result.
leat_flow_context_t* flow_choose(const char* name, TF_Output predicate);
leat_flow_context_t* flow_else(leat_flow_context_t* branch, TF_Output result);
TF_Output flow_merged(leat_flow_context_t* branch, TF_Output result);

// How many operations of |op| read |input| first; with no |input| all are counted.
int flow_count(const char* op, TF_Output input);
// Whether the operation called |name| is a control input of |operation|.
bool flow_waits(TF_Operation* operation, const char* name);

#endif  // LEAT_TESTS_CLIENT_FLOW_KIT_H_
