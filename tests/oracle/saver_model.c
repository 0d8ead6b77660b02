// A small model with leat/train.h, for checkpoint_oracle.py: saver_model FOLDER STEP... trains one
// step and saves before each STEP's number; saver_model FOLDER restores the latest. Then prints the
// step and each variable: its name and its values in hexadecimal.
#include <stdio.h>
#include <stdlib.h>

#include "leat/train.h"

static TF_Status* status;

static void check(const TF_Status* result, const char* what) {
  if (TF_GetCode(result) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(result));
  exit(1);
}

static void print_variable(TF_Session* session, TF_Output variable) {
  TF_Tensor* value = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &variable, &value, 1, NULL, 0, NULL, status);
  check(status, "fetch");
  printf("%s", TF_OperationName(variable.oper));
  const float* items = TF_TensorData(value);
  for (int64_t i = 0; i < TF_TensorElementCount(value); ++i) printf(" %a", (double)items[i]);
  printf("\n");
  TF_DeleteTensor(value);
}

int main(int argc, char** argv) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  status = TF_NewStatus();
  TF_Output w = leat_variable(s, "w", TF_FLOAT, 2, (int64_t[]){4, 3},
                              leat_initializer_uniform(-1, 1, 1));
  TF_Output b = leat_variable(s, "b", TF_FLOAT, 1, (int64_t[]){3},
                              leat_initializer_uniform(-1, 1, 2));
  TF_Output x = leat_constant_floats(s, 2, (int64_t[]){2, 4}, (float[]){1, -2, 3, 4, 0, 5, 6, -7});
  TF_Output y = leat_add(s, leat_matmul(s, x, w), b);
  TF_Output loss = leat_mean(s, leat_multiply(s, y, y));
  TF_Operation* train = leat_minimize(s, leat_optimizer_adam(0.01f), loss);
  TF_Operation* init = leat_variables_initializer(s);
  leat_saver_t* saver = leat_saver_create(s, argv[1], (leat_saver_options_t){.keep = 2});
  check(leat_scope_status(s), "graph");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  check(status, "session");
  leat_target_run(session, init, status);
  check(status, "init");
  int64_t step = 0;
  for (int i = 2; i < argc; ++i) {
    step = strtoll(argv[i], NULL, 10);
    leat_target_run(session, train, status);
    check(status, "train");
    leat_saver_save(saver, session, step, status);
    check(status, "save");
  }
  if (argc == 2) leat_saver_restore_latest(saver, session, &step, status);
  check(status, "restore");
  printf("%lld\n", (long long)step);
  for (int i = 0; i < leat_variable_count(s); ++i) {
    print_variable(session, leat_variable_at(s, i));
  }
  leat_saver_free(saver);
  leat_scope_free(s);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
