// Short forms for tests that build control flow through leat/control_flow.h; flow_kit.h declares
// them. Each calls one function of the API on the graph and the scope of client/model_kit.h and
// fails the test on an error, so that a loop takes a few lines in a test. Numbers are double,
// because the tests compare gradients with finite differences. The forms that open a context also
// check that it is the current one afterwards.
#include "client/flow_kit.h"

TF_Output flow_constant(double value) {
  return leat_constant(kit.scope, TF_DOUBLE, 0, NULL, &value);
}

TF_Output flow_vector(double value) {
  return leat_constant(kit.scope, TF_DOUBLE, 1, (int64_t[]){1}, &value);
}

TF_Output flow_binary(const char* op, TF_Output x, TF_Output y) {
  TF_Operation* made = leat_operation(kit.scope, op, NULL, (TF_Output[]){x, y}, 2, NULL, 0);
  kit_ok(leat_scope_status(kit.scope));
  return kit_out(made, 0);
}

TF_Output flow_unary(const char* op, TF_Output x) {
  TF_Operation* made = leat_operation(kit.scope, op, NULL, &x, 1, NULL, 0);
  kit_ok(leat_scope_status(kit.scope));
  return kit_out(made, 0);
}

TF_Output flow_less(TF_Output x, TF_Output y) { return flow_binary("Less", x, y); }
TF_Output flow_add(TF_Output x, TF_Output y) { return flow_binary("AddV2", x, y); }
TF_Output flow_mul(TF_Output x, TF_Output y) { return flow_binary("Mul", x, y); }

leat_flow_context_t* flow_begin(const char* name, TF_Output* variables, int count) {
  leat_flow_context_t* loop =
      leat_while_begin(kit.graph, name, variables, count, NULL, variables, kit.status);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  return loop;
}

void flow_body(leat_flow_context_t* loop, TF_Output condition, TF_Output* variables) {
  leat_while_body(loop, condition, variables, kit.status);
  kit_ok(kit.status);
}

void flow_end(leat_flow_context_t* loop, TF_Output* variables, int count) {
  leat_while_end(loop, variables, count, variables, kit.status);
  kit_ok(kit.status);
}

leat_flow_context_t* flow_choose(const char* name, TF_Output predicate) {
  leat_flow_context_t* branch = leat_cond_begin(kit.graph, name, predicate, NULL, kit.status);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_current(kit.graph), branch);
  return branch;
}

leat_flow_context_t* flow_else(leat_flow_context_t* branch, TF_Output result) {
  leat_flow_context_t* next = leat_cond_else(branch, &result, 1, kit.status);
  kit_ok(kit.status);
  assert_ptr_equal(leat_flow_current(kit.graph), next);
  return next;
}

TF_Output flow_merged(leat_flow_context_t* branch, TF_Output result) {
  leat_cond_end(branch, &result, 1, &result, kit.status);
  kit_ok(kit.status);
  return result;
}

int flow_count(const char* op, TF_Output input) {
  size_t pos = 0;
  int count = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(kit.graph, &pos)) != NULL;) {
    if (strcmp(TF_OperationOpType(o), op)) continue;
    TF_Output read = TF_OperationInput((TF_Input){o, 0});
    count += !input.oper || (read.oper == input.oper && read.index == input.index);
  }
  return count;
}

bool flow_waits(TF_Operation* operation, const char* name) {
  TF_Operation* controls[16];
  int count = TF_OperationGetControlInputs(operation, controls, 16);
  for (int i = 0; i < count; ++i) {
    if (!strcmp(TF_OperationName(controls[i]), name)) return true;
  }
  return false;
}
