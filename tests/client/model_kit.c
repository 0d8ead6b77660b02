#include "client/model_kit.h"

model_kit_t kit;

int model_kit_set_up(void** state) {
  kit = (model_kit_t){.graph = TF_NewGraph(), .status = TF_NewStatus()};
  kit.scope = leat_scope_create(kit.graph);
  return 0;
}

int model_kit_tear_down(void** state) {
  model_kit_reopen();
  leat_scope_free(kit.scope);
  TF_DeleteGraph(kit.graph);
  TF_DeleteStatus(kit.status);
  return 0;
}

void model_kit_reopen(void) {
  if (kit.session) kit_close(kit.session);
  kit.session = NULL;
}

static TF_Session* session(void) {
  kit_ok(leat_scope_status(kit.scope));
  if (!kit.session) kit.session = kit_session(kit.graph);
  return kit.session;
}

TF_Output model_kit_variable(const char* name, TF_DataType dtype, int count,
                             const double* values) {
  int64_t size = count;
  TF_Output read = leat_variable(kit.scope, name, dtype, 1, &size, leat_initializer_constant(0));
  TF_Output handle = leat_variable_at(kit.scope, leat_variable_count(kit.scope) - 1);
  TF_Output first = leat_cast(
      kit.scope, leat_constant(kit.scope, TF_DOUBLE, 1, &size, values), dtype);
  TF_Operation* assign = leat_operation(kit.scope, "Assign", NULL, (TF_Output[]){handle, first},
                                        2, NULL, 0);
  model_kit_run(assign);
  return read;
}

void model_kit_run(TF_Operation* target) {
  TF_Session* open = session();
  assert_non_null(target);
  leat_target_run(open, target, kit.status);
  kit_ok(kit.status);
}

int model_kit_read(TF_Output output, double* values, int max) {
  TF_Tensor* tensor = kit_run(session(), (TF_Output){NULL, 0}, NULL, output);
  int count = (int)TF_TensorElementCount(tensor);
  const void* data = TF_TensorData(tensor);
  for (int i = 0; i < count && i < max; ++i) {
    switch (TF_TensorType(tensor)) {
      case TF_FLOAT: values[i] = (double)((const float*)data)[i]; break;
      case TF_DOUBLE: values[i] = ((const double*)data)[i]; break;
      case TF_INT32: values[i] = ((const int32_t*)data)[i]; break;
      case TF_INT64: values[i] = (double)((const int64_t*)data)[i]; break;
      default: fail_msg("type %d is not read here", TF_TensorType(tensor));
    }
  }
  TF_DeleteTensor(tensor);
  return count;
}

double model_kit_scalar(TF_Output output) {
  double value = 0;
  assert_int_equal(model_kit_read(output, &value, 1), 1);
  return value;
}
