// An op is declared as a row of short texts ("T: {float, double}; N: int >= 1"), and this parser
// makes the typed declaration of it. The cases read every form of attribute, default and argument,
// then some twenty malformed texts, whose errors must name the part that is wrong, since that is
// what the author of a plugin sees. Numbers in a default tensor keep the ranges of TensorProto's
// fields. The registry parses a row when it is first asked for, and rows may be added while other
// threads look ops up; three threads poll for a row that has not come yet while the test adds rows.
#include "base/thread.h"
#include "toy_graph/toy_ops.h"

static const leat_op_t* parse(leat_arena_t* arena, const leat_op_row_t* row) {
  leat_op_t* op = NULL;
  toy_ok(leat_op_parse(row, arena, &op));
  return op;
}

// Expects that a row with these texts is refused and that the message contains |part|.
static void refuses(const char* attrs, const char* inputs, const char* part) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_op_row_t row = {.name = "Bad", .attrs = attrs, .inputs = inputs};
  leat_op_t* op = NULL;
  toy_fails(leat_op_parse(&row, &arena, &op), LEAT_INVALID_ARGUMENT, part);
  assert_null(op);
  leat_arena_deinitialize(&arena);
}

static void attributes_of_every_kind(void** state) {
  (void)state;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_op_row_t row = {
      .name = "A",
      .attrs = "i: int >= -2 = 7; f: float = -1.5e-3; b: bool = true; s: string = 'a;\\n\"b';"
               "t: type = DT_FLOAT; sh: shape = { dim { size: 2 } dim { size: -1 } };"
               "u: shape = { unknown_rank: true }; li: list(int) >= 4 = [1, 2,3 , 4];"
               "ls: list(string) = ['x', \"y\"]; lt: list({int32, float}) = [DT_INT32];"
               "lsh: list(shape) = [{}, {unknown_rank:true}]; le: list(float) = [];"
               "ty: {float , int32,}; st: { 'SAME', 'VALID' } = 'VALID'; n: numbertype;"
               "r: {realnumbertype, string}; q: quantizedtype; f2: func; in: float = inf;"
               "te: tensor = { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 5 };"
               "out_type: {int32, int64} = int32"};
  const leat_op_t* op = parse(&arena, &row);
  assert_int_equal(op->attr_count, 21);
  const leat_op_attr_t* a = op->attrs;
  assert_true(a[0].has_minimum && a[0].minimum == -2 && a[0].default_value.i == 7);
  assert_true(a[1].default_value.f == -1.5e-3f);
  assert_true(a[2].default_value.b);
  assert_true(leat_string_view_equals(a[3].default_value.s, "a;\n\"b"));
  assert_int_equal(a[4].default_value.type, LEAT_DTYPE_FLOAT);
  assert_string_equal(LEAT_PARTIAL_SHAPE_TEXT(a[5].default_value.shape), "[2,?]");
  assert_int_equal(a[6].default_value.shape.rank, -1);
  assert_int_equal(a[7].minimum, 4);
  assert_int_equal(a[7].default_value.count, 4);
  assert_int_equal(a[7].default_value.ints[3], 4);
  assert_true(leat_string_view_equals(a[8].default_value.strings[1], "y"));
  assert_true(a[9].is_list && a[9].kind == LEAT_ATTR_TYPE && a[9].allowed_type_count == 2);
  assert_int_equal(a[10].default_value.shapes[0].rank, 0);
  assert_int_equal(a[10].default_value.shapes[1].rank, -1);
  assert_true(a[11].has_default && a[11].default_value.count == 0);
  assert_int_equal(a[12].allowed_type_list[0], LEAT_DTYPE_FLOAT);
  assert_int_equal(a[12].allowed_type_list[1], LEAT_DTYPE_INT32);
  assert_true(leat_string_view_equals(a[13].allowed_strings[0], "SAME"));
  assert_int_equal(a[14].allowed_type_count, 19);
  assert_true(a[14].allowed_types == (LEAT_DTYPES_NUMBER | LEAT_DTYPES_QUANTIZED));
  assert_int_equal(a[15].allowed_type_list[12], LEAT_DTYPE_STRING);
  assert_true(a[16].allowed_types == LEAT_DTYPES_QUANTIZED);
  assert_int_equal(a[17].kind, LEAT_ATTR_FUNCTION);
  assert_true(a[18].default_value.f > 3e38f);
  assert_int_equal(leat_tensor_index_at(a[19].default_value.tensor, 1), 5);
  assert_int_equal(a[20].default_value.type, LEAT_DTYPE_INT32);
  leat_op_release_defaults((leat_op_t*)op);
  leat_arena_deinitialize(&arena);
}

static void arguments_of_every_kind(void** state) {
  (void)state;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_op_row_t row = {.name = "B",
                       .inputs = "a: T; b: N * T; c: Tlist; d: Ref(T); e: float; f: N*int32;"
                                 "g: Ref(M * float); h: resource",
                       .outputs = "o: Ref(T)",
                       .attrs = "T: type; N: int; Tlist: list(type); M: int >= 0"};
  const leat_op_t* op = parse(&arena, &row);
  assert_int_equal(op->input_count, 8);
  assert_int_equal(op->inputs[0].source, LEAT_TYPE_FROM_ATTR);
  assert_int_equal(op->inputs[1].number_attr, 1);
  assert_int_equal(op->inputs[2].source, LEAT_TYPE_FROM_LIST);
  assert_true(op->inputs[3].is_ref);
  assert_int_equal(op->inputs[4].dtype, LEAT_DTYPE_FLOAT);
  assert_true(op->inputs[5].number_attr == 1 && op->inputs[5].dtype == LEAT_DTYPE_INT32);
  assert_true(op->inputs[6].is_ref && op->inputs[6].number_attr == 3);
  assert_true(op->attrs[1].has_minimum && op->attrs[1].minimum == 1);
  assert_true(op->attrs[2].has_minimum && op->attrs[2].minimum == 1);
  assert_true(op->attrs[3].has_minimum && op->attrs[3].minimum == 0);
  assert_true(op->flags & LEAT_OP_STATEFUL);  // it takes a resource
  assert_true(op->has_ref_inputs && op->has_ref_outputs);
  leat_arena_deinitialize(&arena);
}

static void malformed_rows_are_refused(void** state) {
  (void)state;
  refuses("T", NULL, "'<name>:'");
  refuses("T: what", NULL, "type is 'what'");
  refuses("T: {float, what}", NULL, "allowed value is 'what'");
  refuses("T: {float", NULL, "must be ',' or '}'");
  refuses("T: list(int", NULL, "must be closed");
  refuses("T: string >= 3", NULL, "after '>='");
  refuses("T: int = x", NULL, "must be int");
  refuses("T: int = 3 4", NULL, "the end");
  refuses("T: int >= 3 = 2", NULL, "minimum 3");
  refuses("T: {float} = DT_INT32", NULL, "allowed values");
  refuses("T: list(int) = 3", NULL, "a list");
  refuses("T: string = 'a", NULL, "a string that ends");
  refuses("T: shape = { dims: 3 }", NULL, "a field of a shape");
  refuses("T: type; T: type", NULL, "name must be new");
  refuses("T: type x", NULL, "left at the end");
  refuses("T: type", "a: U", "type is 'U'");
  refuses("T: int", "a: T", "type is 'T'");
  refuses("T: type", "a: T * T", "count is 'T'");
  refuses("T: type", "a: Ref(T", "must be closed");
  refuses("T: type", "a: T b", "left at the end");
}

#define TENSOR(dtype, value) \
  "t: tensor = { dtype: DT_" dtype " tensor_shape { } int_val: " value " }"

// As in a TensorProto: whole numbers in the range of the field, of which narrow types keep the
// lowest bits; 64 bits are kept exactly.
static void numbers_of_tensors_keep_to_their_range(void** state) {
  (void)state;
  static const struct {
    const char* text;
    int64_t value;
  } kKept[] = {{TENSOR("INT32", "-2147483648"), INT32_MIN},
               {TENSOR("INT32", "2147483647"), INT32_MAX},
               {TENSOR("INT64", "9007199254740993"), INT64_C(9007199254740993)},
               {TENSOR("INT64", "-9223372036854775808"), INT64_MIN},
               {TENSOR("UINT16", "65535"), 65535},
               {TENSOR("UINT8", "300"), 44},
               {TENSOR("INT8", "-129"), 127},
               {TENSOR("INT16", "-32768"), -32768}};
  for (size_t i = 0; i < sizeof kKept / sizeof *kKept; ++i) {
    leat_arena_t arena;
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    leat_op_row_t row = {.name = "Kept", .attrs = kKept[i].text};
    leat_op_t* op = NULL;
    toy_ok(leat_op_parse(&row, &arena, &op));
    const leat_tensor_t* tensor = op->attrs[0].default_value.tensor;
    int64_t value = 0;
    switch (tensor->dtype) {
      case LEAT_DTYPE_INT64: value = *leat_tensor_data(tensor, const int64_t); break;
      case LEAT_DTYPE_INT32: value = *leat_tensor_data(tensor, const int32_t); break;
      case LEAT_DTYPE_INT16: value = *leat_tensor_data(tensor, const int16_t); break;
      case LEAT_DTYPE_UINT16: value = *leat_tensor_data(tensor, const uint16_t); break;
      case LEAT_DTYPE_INT8: value = *leat_tensor_data(tensor, const int8_t); break;
      default: value = *leat_tensor_data(tensor, const uint8_t);
    }
    assert_int_equal(value, kKept[i].value);
    leat_op_release_defaults(op);
    leat_arena_deinitialize(&arena);
  }
  refuses(TENSOR("INT32", "2147483648"), NULL, "is 2147483648, must be in");
  refuses(TENSOR("INT32", "-2147483649"), NULL, "is -2147483649, must be in");
  refuses(TENSOR("UINT8", "3000000000"), NULL, "must be in");
  refuses(TENSOR("INT32", "1.5"), NULL, "is 1.5, must be an integer");
  refuses(TENSOR("INT32", "1e300"), NULL, "must be an integer");
  refuses(TENSOR("INT64", "nan"), NULL, "must be an integer");
  refuses(TENSOR("INT64", "9223372036854775808"), NULL, "must be an integer of 64 bits");
  refuses(TENSOR("INT8", "inf"), NULL, "must be an integer");
  refuses(TENSOR("INT64", "'9'"), NULL, "must be an integer");
}

static void registry_parses_when_asked(void** state) {
  (void)state;
  static const leat_op_row_t rows[] = {
      {.name = "Good"}, {.name = "Bad", .attrs = "x"}, {.name = 0}};
  leat_op_registry_t* registry = NULL;
  toy_ok(leat_op_registry_create(leat_allocator_system(), &registry));
  toy_ok(leat_op_registry_add(registry, rows));
  const leat_op_t *op = NULL, *again = NULL;
  assert_ptr_equal(leat_op_registry_find_row(registry, LEAT_SV("Bad")), &rows[1]);
  assert_null(leat_op_registry_find_row(registry, LEAT_SV("None")));
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Good"), &op));
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Good"), &again));
  assert_ptr_equal(op, again);
  toy_fails(leat_op_registry_find(registry, LEAT_SV("Bad"), &op), LEAT_INVALID_ARGUMENT, "'Bad'");
  toy_fails(leat_op_registry_find(registry, LEAT_SV("None"), &op), LEAT_NOT_FOUND,
            "Op type not registered 'None'");
  toy_fails(leat_op_registry_add(registry, rows), LEAT_ALREADY_EXISTS, "Good");
  assert_int_equal(leat_op_registry_count(registry), 2);
  assert_string_equal(leat_op_registry_row(registry, 1)->name, "Bad");
  leat_op_registry_free(registry);
}

static void an_alias_is_another_name(void** state) {
  (void)state;
  static const leat_op_row_t rows[] = {
      {.name = "Plain",
       .inputs = "x: T",
       .outputs = "y: N * T",
       .attrs = "first: string = 'a;b'; T: {float, int32}; last: bool = true; N: int >= 2",
       .flags = LEAT_OP_STATEFUL},
      {.name = "Same", .alias_of = "Plain"},
      {.name = "Less", .alias_of = "Plain", .without = "last first"},
      {.name = 0}};
  static const leat_op_row_t early[] = {{.name = "Early", .alias_of = "Later"}, {.name = 0}};
  leat_op_registry_t* registry = NULL;
  const leat_op_t* op = NULL;
  toy_ok(leat_op_registry_create(leat_allocator_system(), &registry));
  toy_ok(leat_op_registry_add(registry, rows));
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Same"), &op));
  assert_int_equal(op->attr_count, 4);
  assert_int_equal(op->flags, LEAT_OP_STATEFUL);
  assert_string_equal(LEAT_OP_TEXT(op),
                      "Op<name=Same; signature=x:T -> y:N*T; attr=first:string; attr=T:type; "
                      "attr=last:bool; attr=N:int,min=2>");
  assert_string_equal((const char*)op->attrs[0].default_value.s.data, "a;b");
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Less"), &op));
  assert_int_equal(op->attr_count, 2);
  assert_int_equal(leat_op_find_attr(op, LEAT_SV("T")), 0);
  assert_int_equal(leat_op_find_attr(op, LEAT_SV("N")), 1);
  toy_fails(leat_op_registry_add(registry, early), LEAT_NOT_FOUND, "alias of 'Later'");
  leat_op_registry_free(registry);
}

static const leat_op_row_t late[] = {
    {.name = "Late", .inputs = "x: float"},
    {.name = "Good"},
    {.name = "Later", .attrs = "t: tensor = { dtype: DT_INT32 tensor_shape { } int_val: 9 }"},
    {.name = "Broken", .attrs = "x"},
};

static void rows_come_late(void** state) {
  (void)state;
  static const leat_op_row_t rows[] = {{.name = "Good"}, {.name = 0}};
  leat_op_registry_t* registry = NULL;
  const leat_op_t* op = NULL;
  toy_ok(leat_op_registry_create(leat_allocator_system(), &registry));
  toy_ok(leat_op_registry_add(registry, rows));
  assert_false(leat_op_registry_has(registry, LEAT_SV("Late")));
  toy_ok(leat_op_registry_extend(registry, &late[0]));
  toy_fails(leat_op_registry_extend(registry, &late[0]), LEAT_ALREADY_EXISTS, "Late");
  toy_fails(leat_op_registry_extend(registry, &late[1]), LEAT_ALREADY_EXISTS, "Good");
  toy_fails(leat_op_registry_extend(registry, &late[3]), LEAT_INVALID_ARGUMENT, "Broken");
  toy_ok(leat_op_registry_extend(registry, &late[2]));
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Late"), &op));
  assert_ptr_equal(op->row, &late[0]);
  assert_int_equal(op->input_count, 1);
  assert_ptr_equal(leat_op_registry_find_row(registry, LEAT_SV("Later")), &late[2]);
  assert_false(leat_op_registry_has(registry, LEAT_SV("Broken")));
  assert_int_equal(leat_op_registry_count(registry), 3);
  assert_ptr_equal(leat_op_registry_row(registry, 2), &late[2]);
  leat_op_registry_free(registry);
}

static _Atomic int declare_count;

static const leat_op_row_t* declare_rows(void) {
  static const leat_op_row_t rows[] = {
      {.name = "Declared", .inputs = "x: float"}, {.name = "Good"}, {.name = "Late"}, {.name = 0}};
  atomic_fetch_add(&declare_count, 1);
  return rows;
}

static void find_declared(void* data) {
  const leat_op_t* op = NULL;
  toy_ok(leat_op_registry_find(data, LEAT_SV("Declared"), &op));
  assert_int_equal(op->input_count, 1);
}

// Declared rows are asked for once, by whichever thread comes first, and only when a name is
// unknown. A row of the library or of a plugin comes before a declared one of its name.
static void rows_are_declared(void** state) {
  (void)state;
  static const leat_op_row_t rows[] = {{.name = "Good"}, {.name = 0}};
  leat_op_registry_t* registry = NULL;
  const leat_op_t* op = NULL;
  leat_thread_t threads[3];
  atomic_store(&declare_count, 0);
  toy_ok(leat_op_registry_create(leat_allocator_system(), &registry));
  toy_ok(leat_op_registry_add(registry, rows));
  leat_op_registry_defer(registry, declare_rows);
  toy_ok(leat_op_registry_extend(registry, &late[0]));
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Good"), &op));
  assert_ptr_equal(op->row, &rows[0]);
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Late"), &op));
  assert_false(leat_op_registry_has(registry, LEAT_SV("Declared")));
  assert_int_equal(atomic_load(&declare_count), 0);
  for (int i = 0; i < 3; ++i) {
    toy_ok(leat_thread_start("finder", find_declared, registry, &threads[i]));
  }
  for (int i = 0; i < 3; ++i) leat_thread_join(threads[i]);
  toy_fails(leat_op_registry_find(registry, LEAT_SV("None"), &op), LEAT_NOT_FOUND, "None");
  assert_int_equal(atomic_load(&declare_count), 1);
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Good"), &op));
  assert_ptr_equal(op->row, &rows[0]);
  toy_ok(leat_op_registry_find(registry, LEAT_SV("Late"), &op));
  assert_ptr_equal(op->row, &late[0]);

  leat_arena_t arena;
  const leat_op_row_t** list;
  size_t count;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  toy_ok(leat_op_registry_list(registry, false, &arena, &list, &count));
  assert_int_equal(count, 2);
  toy_ok(leat_op_registry_list(registry, true, &arena, &list, &count));
  assert_int_equal(count, 3);
  assert_string_equal(list[0]->name, "Declared");
  assert_ptr_equal(list[1], &rows[0]);
  assert_ptr_equal(list[2], &late[0]);
  leat_arena_deinitialize(&arena);
  leat_op_registry_free(registry);
}

static void wait_for_later(void* data) {
  while (!leat_op_registry_has(data, LEAT_SV("Later"))) continue;
}

static void rows_come_while_threads_look_up(void** state) {
  (void)state;
  leat_op_registry_t* registry = NULL;
  leat_thread_t threads[3];
  toy_ok(leat_op_registry_create(leat_allocator_system(), &registry));
  for (int i = 0; i < 3; ++i) {
    toy_ok(leat_thread_start("finder", wait_for_later, registry, &threads[i]));
  }
  for (int i = 0; i < 3; ++i) toy_ok(leat_op_registry_extend(registry, &late[i]));
  for (int i = 0; i < 3; ++i) leat_thread_join(threads[i]);
  leat_op_registry_free(registry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attributes_of_every_kind),
      cmocka_unit_test(arguments_of_every_kind),
      cmocka_unit_test(malformed_rows_are_refused),
      cmocka_unit_test(numbers_of_tensors_keep_to_their_range),
      cmocka_unit_test(registry_parses_when_asked),
      cmocka_unit_test(an_alias_is_another_name),
      cmocka_unit_test(rows_come_late),
      cmocka_unit_test(rows_are_declared),
      cmocka_unit_test(rows_come_while_threads_look_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
