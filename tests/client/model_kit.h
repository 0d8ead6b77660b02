// What tests of training share: a graph with its scope and session, read and run in one line.
#ifndef LEAT_TESTS_CLIENT_MODEL_KIT_H_
#define LEAT_TESTS_CLIENT_MODEL_KIT_H_

#include "capi/kit.h"
#include "leat/train.h"

typedef struct model_kit_s {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Session* session;  // made by the first run
  TF_Status* status;
} model_kit_t;

extern model_kit_t kit;  // of the running test

int model_kit_set_up(void** state);
int model_kit_tear_down(void** state);
// A variable [count] of |dtype|, which begins as |values|.
TF_Output model_kit_variable(const char* name, TF_DataType dtype, int count,
                             const double* values);
// Runs |target|; the scope and the run must be without error.
void model_kit_run(TF_Operation* target);
// The elements of |output| (float, double, int32 or int64) as doubles; at most |max|.
int model_kit_read(TF_Output output, double* values, int max);
double model_kit_scalar(TF_Output output);
// The session is closed; the next run opens another.
void model_kit_reopen(void);

#endif  // LEAT_TESTS_CLIENT_MODEL_KIT_H_
