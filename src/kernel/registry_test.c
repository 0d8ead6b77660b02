// The kernel registry: which row serves a node, what the messages say where none does, rows that
// come late, and look-ups by many threads. The rows are declared here, of ops that need not exist,
// with kernels that are never called; a row is told by its address. Both ways of looking up, with
// and without a message, must agree in every case. Making a kernel from its row is tested in
// invoke_test.c.
#include "kernel/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "base/thread.h"

static leat_status_t nothing(leat_kernel_context_t* c) { return leat_ok_status(); }

static const leat_kernel_row_t kRows[] = {
    {.op = "MatMul", .device_type = "CPU", .constraints = "T: float, double", .compute = nothing},
    {.op = "MatMul", .device_type = "CPU", .constraints = " T : float ; ", .priority = 5,
     .compute = nothing},
    {.op = "MatMul", .device_type = "CPU", .constraints = "T: float", .priority = 5,
     .compute = nothing},
    {.op = "MatMul", .device_type = "GPU", .constraints = "T: half", .compute = nothing},
    {.op = "Gather", .device_type = "CPU", .constraints = "T: float; I: int32, int64",
     .compute = nothing},
    {.op = "Many", .device_type = "CPU", .constraints = "types: float, int32", .compute = nothing},
    {.op = "Any", .device_type = "CPU", .compute = nothing},
    {.op = NULL},
};
static const leat_kernel_row_t kMoreRows[] = {
    {.op = "MatMul", .device_type = "CPU", .constraints = "T: int32", .compute = nothing},
    {.op = "Bad", .device_type = "CPU", .constraints = "T float", .compute = nothing},
    {.op = "Worse", .device_type = "CPU", .constraints = "T: floot", .compute = nothing},
    {.op = NULL},
};

static leat_kernel_registry_t* make(void) {
  leat_kernel_registry_t* registry = NULL;
  LEAT_EXPECT_OK(leat_kernel_registry_create(leat_allocator_system(), &registry));
  LEAT_EXPECT_OK(leat_kernel_registry_add(registry, kRows));
  LEAT_EXPECT_OK(leat_kernel_registry_add(registry, kMoreRows));
  return registry;
}

static leat_op_t op_named(const char* name) {
  return (leat_op_t){.name = leat_string_view_from(name)};
}

static const leat_kernel_row_t* find(const leat_kernel_registry_t* registry, const char* op_name,
                                     const char* device_type, const leat_attr_t* attrs,
                                     int attr_count) {
  leat_op_t op = op_named(op_name);
  const leat_kernel_row_t* row = NULL;
  leat_string_view_t device = leat_string_view_from(device_type);
  leat_status_t status =
      leat_kernel_registry_find(registry, &op, attrs, attr_count, device, &row);
  assert_true((status == NULL) == (row != NULL));
  leat_status_free(status);
  const leat_kernel_row_t* probed;
  LEAT_EXPECT_OK(
      leat_kernel_registry_probe(registry, &op, attrs, attr_count, device, &probed));
  assert_ptr_equal(row, probed);
  return row;
}

static const leat_kernel_row_t* find_type(const leat_kernel_registry_t* registry, const char* op,
                                          const char* device_type, int dtype) {
  const leat_attr_t attrs[] = {LEAT_TYPE("T", dtype)};
  return find(registry, op, device_type, attrs, 1);
}

static void the_highest_row_that_fits_serves(void** state) {
  leat_kernel_registry_t* registry = make();
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_FLOAT), &kRows[1]);
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_DOUBLE), &kRows[0]);
  assert_ptr_equal(find_type(registry, "MatMul", "GPU", LEAT_DTYPE_HALF), &kRows[3]);
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_INT32), &kMoreRows[0]);
  assert_ptr_equal(
      find_type(registry, "MatMul", "CPU", leat_dtype_make_ref(LEAT_DTYPE_DOUBLE)), &kRows[0]);
  assert_null(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_HALF));
  assert_null(find_type(registry, "MatMul", "TPU", LEAT_DTYPE_FLOAT));
  assert_ptr_equal(find_type(registry, "Any", "CPU", LEAT_DTYPE_STRING), &kRows[6]);
  assert_null(find_type(registry, "Nothing", "CPU", LEAT_DTYPE_FLOAT));
  leat_kernel_registry_free(registry);
}

static void every_constraint_and_every_item_counts(void** state) {
  leat_kernel_registry_t* registry = make();
  const leat_attr_t fits[] = {LEAT_TYPE("I", LEAT_DTYPE_INT64), LEAT_TYPE("T", LEAT_DTYPE_FLOAT)};
  const leat_attr_t wrong[] = {LEAT_TYPE("I", LEAT_DTYPE_INT8), LEAT_TYPE("T", LEAT_DTYPE_FLOAT)};
  assert_ptr_equal(find(registry, "Gather", "CPU", fits, 2), &kRows[4]);
  assert_null(find(registry, "Gather", "CPU", wrong, 2));
  const int32_t good_types[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_INT32, LEAT_DTYPE_FLOAT};
  const int32_t bad_types[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_STRING};
  leat_attr_t list = {LEAT_SV("types"),
                      {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 3, .types = good_types}};
  assert_ptr_equal(find(registry, "Many", "CPU", &list, 1), &kRows[5]);
  list.value.count = 0;
  assert_ptr_equal(find(registry, "Many", "CPU", &list, 1), &kRows[5]);
  list.value.count = 2;
  list.value.types = bad_types;
  assert_null(find(registry, "Many", "CPU", &list, 1));
  leat_kernel_registry_free(registry);
}

static void failures_say_what_there_is(void** state) {
  leat_kernel_registry_t* registry = make();
  const leat_kernel_row_t* row = NULL;
  leat_op_t gather = op_named("Gather");
  const leat_attr_t attrs[] = {LEAT_TYPE("I", LEAT_DTYPE_INT8), LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                               LEAT_STR("_class", "x"), LEAT_STR("mode", "SAME"),
                               LEAT_INT("n", 1)};
  leat_status_t status =
      leat_kernel_registry_find(registry, &gather, attrs, 5, LEAT_SV("CPU"), &row);
  assert_string_equal(
      leat_status_message(status),
      "No registered 'Gather' OpKernel for 'CPU' devices compatible with node of op Gather\n\t "
      "(OpKernel was found, but attributes didn't match) Requested Attributes: I=DT_INT8, "
      "T=DT_FLOAT, mode=\"SAME\", n=1\n\t.  Registered:  device='CPU'; T in [DT_FLOAT]; I in "
      "[DT_INT32, DT_INT64]\n");
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, status);
  status = leat_kernel_registry_find(registry, &gather, attrs, 1, LEAT_SV("CPU"), &row);
  assert_string_equal(leat_status_message(status),
                      "OpKernel 'Gather' has constraint on attr 'T' not in NodeDef");
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);

  // As TensorFlow 2.21 answers a run of an op without a kernel.
  leat_op_t reduce = op_named("NcclReduce");
  const leat_attr_t nccl[] = {LEAT_STR("reduction", "sum"), LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                              LEAT_INT("num_devices", 1)};
  status = leat_kernel_registry_unserved(registry, &reduce, LEAT_SV("NcclReduce"), nccl, 3,
                                         LEAT_SV("CPU"));
  assert_string_equal(
      leat_status_message(status),
      "No OpKernel was registered to support Op 'NcclReduce' used by {{node NcclReduce}} with "
      "these attrs: [reduction=\"sum\", T=DT_FLOAT, num_devices=1]\nRegistered devices: [CPU]\n"
      "Registered kernels:\n  <no registered kernels>\n");
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  for (int i = 0; i < 2; ++i) {
    leat_op_t bad = op_named(i ? "Bad" : "Worse");
    LEAT_EXPECT_CODE(LEAT_INTERNAL,
                     leat_kernel_registry_find(registry, &bad, NULL, 0, LEAT_SV("CPU"), &row));
  }
  leat_kernel_registry_free(registry);
}

static leat_status_t count_row(void* data, const leat_kernel_row_t* row) {
  ++*(int*)data;
  return leat_ok_status();
}

static void rows_are_listed(void** state) {
  leat_kernel_registry_t* registry = make();
  int all = 0, of_matmul = 0, of_nothing = 0;
  LEAT_EXPECT_OK(leat_kernel_registry_each(registry, LEAT_SV(""), count_row, &all));
  LEAT_EXPECT_OK(leat_kernel_registry_each(registry, LEAT_SV("MatMul"), count_row, &of_matmul));
  LEAT_EXPECT_OK(leat_kernel_registry_each(registry, LEAT_SV("X"), count_row, &of_nothing));
  assert_int_equal(all, 10);
  assert_int_equal(of_matmul, 5);
  assert_int_equal(of_nothing, 0);
  leat_kernel_registry_free(registry);
}

static void look_up(void* data) {
  for (int i = 0; i < 500; ++i) {
    assert_ptr_equal(find_type(data, "MatMul", "CPU", LEAT_DTYPE_DOUBLE), &kRows[0]);
    assert_null(find_type(data, "Gather", "CPU", LEAT_DTYPE_DOUBLE));
    assert_ptr_equal(find_type(data, "Any", "CPU", LEAT_DTYPE_DOUBLE), &kRows[6]);
  }
}

static void threads_look_up_at_once(void** state) {
  leat_kernel_registry_t* registry = make();
  leat_thread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("finder", look_up, registry, &threads[i]));
  }
  for (int i = 0; i < 4; ++i) leat_thread_join(threads[i]);
  leat_kernel_registry_free(registry);
}

// Rows as plugins bring them; the last has a label.
static const leat_kernel_row_t kLateRows[] = {
    {.op = "MatMul", .device_type = "CPU", .constraints = "T: half", .compute = nothing},
    {.op = "New", .device_type = "CPU", .compute = nothing},
    {.op = "MatMul", .device_type = "CPU", .constraints = "T: float", .priority = 9,
     .compute = nothing},
    {.op = "MatMul", .device_type = "CPU", .constraints = "T: float", .priority = 20,
     .label = "fast", .compute = nothing},
};

static leat_status_t count_each(void* data, const leat_kernel_row_t* row) {
  ++*(int*)data;
  return leat_ok_status();
}

static void rows_come_late(void** state) {
  leat_kernel_registry_t* registry = make();
  int before = 0, after = 0, of_op = 0;
  LEAT_EXPECT_OK(leat_kernel_registry_each(registry, LEAT_SV(""), count_each, &before));
  assert_null(find_type(registry, "New", "CPU", LEAT_DTYPE_FLOAT));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLateRows); ++i) {
    LEAT_EXPECT_OK(leat_kernel_registry_extend(registry, &kLateRows[i]));
  }
  LEAT_EXPECT_CODE(LEAT_INTERNAL, leat_kernel_registry_extend(registry, &kMoreRows[1]));
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_HALF), &kLateRows[0]);
  assert_ptr_equal(find_type(registry, "New", "CPU", LEAT_DTYPE_HALF), &kLateRows[1]);
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_FLOAT), &kLateRows[2]);
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_DOUBLE), &kRows[0]);
  leat_attr_t attrs[] = {LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("_kernel", "fast")};
  assert_ptr_equal(find(registry, "MatMul", "CPU", attrs, 2), &kLateRows[3]);
  attrs[1].value.s = LEAT_SV("slow");
  assert_null(find(registry, "MatMul", "CPU", attrs, 2));
  LEAT_EXPECT_OK(leat_kernel_registry_each(registry, LEAT_SV(""), count_each, &after));
  LEAT_EXPECT_OK(leat_kernel_registry_each(registry, LEAT_SV("New"), count_each, &of_op));
  assert_int_equal(after, before + 4);
  assert_int_equal(of_op, 1);
  leat_kernel_registry_free(registry);
}

static int fills;
static leat_status_t fill(leat_kernel_registry_t* registry) {
  if (++fills == 1) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "not yet");
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_add(registry, kRows));
  int count = 0;  // who fills may ask what is there so far
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_each(registry, LEAT_SV("Any"), count_each, &count));
  assert_int_equal(count, 1);
  return leat_ok_status();
}

static void rows_are_deferred(void** state) {
  leat_kernel_registry_t* registry = NULL;
  leat_op_t op = op_named("Any");
  const leat_kernel_row_t* row = NULL;
  fills = 0;
  LEAT_EXPECT_OK(leat_kernel_registry_create(leat_allocator_system(), &registry));
  leat_kernel_registry_defer(registry, fill);
  LEAT_EXPECT_OK(leat_kernel_registry_add(registry, kMoreRows));
  LEAT_EXPECT_OK(leat_kernel_registry_extend(registry, &kLateRows[0]));
  assert_int_equal(fills, 0);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_kernel_registry_find(registry, &op, NULL, 0, LEAT_SV("CPU"), &row));
  LEAT_EXPECT_OK(leat_kernel_registry_find(registry, &op, NULL, 0, LEAT_SV("CPU"), &row));
  assert_string_equal(row->op, "Any");
  // Those that were added or came late stand behind them.
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_INT32), &kMoreRows[0]);
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_HALF), &kLateRows[0]);
  assert_ptr_equal(find_type(registry, "MatMul", "CPU", LEAT_DTYPE_DOUBLE), &kRows[0]);
  assert_int_equal(fills, 2);
  leat_kernel_registry_free(registry);
}

static void look_up_for_ever(void* data) {
  leat_op_t op = op_named("MatMul");
  const leat_attr_t attrs[] = {LEAT_TYPE("T", LEAT_DTYPE_FLOAT)};
  const leat_kernel_row_t* row = NULL;
  while (!row) {
    LEAT_EXPECT_OK(leat_kernel_registry_probe(data, &op, attrs, 1, LEAT_SV("NPU"), &row));
  }
}

static void rows_come_while_threads_look_up(void** state) {
  static const leat_kernel_row_t last = {.op = "MatMul", .device_type = "NPU", .compute = nothing};
  leat_kernel_registry_t* registry = make();
  leat_thread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("finder", look_up_for_ever, registry, &threads[i]));
  }
  for (int i = 0; i < 100; ++i) {
    LEAT_EXPECT_OK(leat_kernel_registry_extend(registry, &kLateRows[i % 3]));
  }
  LEAT_EXPECT_OK(leat_kernel_registry_extend(registry, &last));
  for (int i = 0; i < 3; ++i) leat_thread_join(threads[i]);
  leat_kernel_registry_free(registry);
}

static leat_status_t fill_and_find(leat_kernel_registry_t** out_registry) {
  leat_op_t op = op_named("Gather");
  const leat_attr_t attrs[] = {LEAT_TYPE("I", LEAT_DTYPE_INT64), LEAT_TYPE("T", LEAT_DTYPE_FLOAT)};
  const leat_kernel_row_t* row = NULL;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_create(leat_allocator_system(), out_registry));
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_add(*out_registry, kRows));
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_extend(*out_registry, &kLateRows[0]));
  return leat_kernel_registry_find(*out_registry, &op, attrs, 2, LEAT_SV("CPU"), &row);
}

static void memory_may_fail(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_kernel_registry_t* registry = NULL;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = fill_and_find(&registry);
    bool met = leat_fault_remove(&fault);
    leat_kernel_registry_free(registry);
    if (!met) {
      LEAT_EXPECT_OK(status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_highest_row_that_fits_serves),
      cmocka_unit_test(every_constraint_and_every_item_counts),
      cmocka_unit_test(failures_say_what_there_is),
      cmocka_unit_test(rows_are_listed),
      cmocka_unit_test(threads_look_up_at_once),
      cmocka_unit_test(rows_come_late),
      cmocka_unit_test(rows_are_deferred),
      cmocka_unit_test(rows_come_while_threads_look_up),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
