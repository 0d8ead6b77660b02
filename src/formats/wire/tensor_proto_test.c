// Tensors through their message and back, the fill rule, and messages that lie about their size.
// The fill rule says that the last value of a list stands for all that are missing. Messages are
// made as structs, so that the bytes around them do not matter here, and a refused one must leave
// no buffer behind. Every type goes there and back with sizes on both sides of the limit up to
// which values are written as a list.
#include "formats/wire/tensor_proto.h"

#include <string.h>

#include "base/test.h"

static leat_pb_tensor_shape_proto_dim_t dims_3[] = {{.size = 3}};
static leat_pb_tensor_shape_proto_t vector_3 = {.dim = {dims_3, 1}};

static void expect_elements(const leat_pb_tensor_proto_t* proto, const void* expected) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_from_proto(proto, leat_buffer_source_host(), &tensor));
  assert_int_equal(tensor.dtype, proto->dtype);
  assert_memory_equal(tensor.data, expected, leat_tensor_size_bytes(&tensor));
  leat_tensor_release(&tensor);
}

static void expect_refused(leat_status_code_t code, const leat_pb_tensor_proto_t* proto) {
  leat_tensor_t tensor;
  LEAT_EXPECT_CODE(code, leat_tensor_from_proto(proto, leat_buffer_source_host(), &tensor));
  assert_null(tensor.buffer);
}

static void values_fill_the_rest_with_the_last(void** state) {
  float floats[] = {1, 2, 3, 4};
  leat_pb_tensor_proto_t proto = {
      .dtype = LEAT_DTYPE_FLOAT, .tensor_shape = &vector_3, .float_val = {floats, 4}};
  expect_elements(&proto, (const float[]){1, 2, 3});
  proto.float_val.count = 2;
  expect_elements(&proto, (const float[]){1, 2, 2});
  proto.float_val.count = 0;
  expect_elements(&proto, (const float[]){0, 0, 0});
  int32_t ints[] = {-1, 300};
  proto = (leat_pb_tensor_proto_t){
      .dtype = LEAT_DTYPE_INT16, .tensor_shape = &vector_3, .int_val = {ints, 2}};
  expect_elements(&proto, (const int16_t[]){-1, 300, 300});
  proto.dtype = LEAT_DTYPE_UINT8;
  expect_elements(&proto, (const uint8_t[]){255, 44, 44});
  float parts[] = {1, 2, 3};
  proto = (leat_pb_tensor_proto_t){
      .dtype = LEAT_DTYPE_COMPLEX64, .tensor_shape = &vector_3, .scomplex_val = {parts, 3}};
  expect_elements(&proto, (const float[]){1, 2, 1, 2, 1, 2});
}

static void content_is_taken_as_it_is(void** state) {
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_INT16, .tensor_shape = &vector_3,
                                  .tensor_content = LEAT_SV("\1\0\2\0\3\0")};
  expect_elements(&proto, "\1\0\2\0\3\0");
  proto.tensor_content.size = 5;
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  proto.dtype = LEAT_DTYPE_BOOL;
  proto.tensor_content = LEAT_SV("\0\1\2");
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
}

static void strings_are_read_both_ways(void** state) {
  leat_string_view_t strings[] = {LEAT_SV("a"), LEAT_SV("a string of more than 22 bytes")};
  leat_pb_tensor_proto_t proto = {
      .dtype = LEAT_DTYPE_STRING, .tensor_shape = &vector_3, .string_val = {strings, 2}};
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_from_proto(&proto, leat_buffer_source_host(), &tensor));
  assert_true(leat_string_view_equal(leat_tensor_string_at(&tensor, 0), strings[0]));
  assert_true(leat_string_view_equal(leat_tensor_string_at(&tensor, 2), strings[1]));
  assert_ptr_equal(leat_tensor_string_at(&tensor, 1).data, leat_tensor_string_at(&tensor, 2).data);
  leat_tensor_release(&tensor);
  proto.string_val.count = 0;
  LEAT_EXPECT_OK(leat_tensor_from_proto(&proto, leat_buffer_source_host(), &tensor));
  assert_int_equal(leat_tensor_string_at(&tensor, 2).size, 0);
  leat_tensor_release(&tensor);
  proto.tensor_content = LEAT_SV("\1\0\2xyz");
  LEAT_EXPECT_OK(leat_tensor_from_proto(&proto, leat_buffer_source_host(), &tensor));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&tensor, 2), "yz"));
  leat_tensor_release(&tensor);
  const leat_string_view_t lies[] = {LEAT_SV("\1\0\2xy"), LEAT_SV("\1\0\2xyzz"), LEAT_SV("\1"),
                                     LEAT_SV("\1\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1xyz")};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(lies); ++i) {
    proto.tensor_content = lies[i];
    expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  }
}

static void lies_are_refused(void** state) {
  leat_pb_tensor_shape_proto_dim_t dims[300] = {{.size = -1}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 1}};
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_FLOAT, .tensor_shape = &shape};
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  for (int i = 0; i < 300; ++i) dims[i].size = 1;
  shape.dim.count = 300;
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  dims[0].size = dims[1].size = INT64_MAX / 2;
  shape.dim.count = 2;
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  shape.dim.count = 1;
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  proto.tensor_content = LEAT_SV("1234");
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  shape = (leat_pb_tensor_shape_proto_t){.unknown_rank = true};
  expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  static const int dtypes[] = {0, -1, 33, 101, 1000};
  proto = (leat_pb_tensor_proto_t){0};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(dtypes); ++i) {
    proto.dtype = dtypes[i];
    expect_refused(LEAT_INVALID_ARGUMENT, &proto);
  }
}

static void every_dtype_comes_back(void** state) {
  static const int64_t sizes[] = {0, 1, 2, 17};
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
      leat_shape_t shape = leat_shape_vector(sizes[i]);
      leat_tensor_t tensor, back;
      leat_arena_t arena;
      leat_pb_tensor_proto_t proto;
      leat_arena_initialize(leat_allocator_system(), 0, &arena);
      LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
      size_t bytes = leat_tensor_size_bytes(&tensor);
      bool is_object = leat_dtype_in(dtype, LEAT_DTYPES_OBJECT);
      for (size_t j = 0; j < bytes && !is_object; ++j) {
        ((uint8_t*)tensor.data)[j] = (uint8_t)(dtype == LEAT_DTYPE_BOOL ? j & 1 : j * 37);
      }
      LEAT_EXPECT_OK(leat_tensor_to_proto(&tensor, &arena, &proto));
      LEAT_EXPECT_OK(leat_tensor_from_proto(&proto, leat_buffer_source_host(), &back));
      assert_true(leat_shape_equal(&tensor.shape, &back.shape));
      if (!is_object) assert_memory_equal(tensor.data, back.data, bytes);
      leat_tensor_release(&tensor);
      leat_tensor_release(&back);
      leat_arena_deinitialize(&arena);
    }
  }
}

static void handles_come_back(void** state) {
  leat_tensor_t tensor, back;
  leat_shape_t shape = leat_shape_vector(2);
  leat_arena_t arena;
  leat_pb_tensor_proto_t proto;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_RESOURCE, &shape, &tensor));
  LEAT_EXPECT_OK(leat_resource_handle_create(LEAT_SV("/cpu:0"), LEAT_SV("c"), LEAT_SV("n"),
                                             LEAT_SV("Var"),
                                             leat_tensor_data(&tensor, leat_resource_handle_t*)));
  LEAT_EXPECT_OK(leat_tensor_to_proto(&tensor, &arena, &proto));
  LEAT_EXPECT_OK(leat_tensor_from_proto(&proto, leat_buffer_source_host(), &back));
  leat_resource_handle_t* handle = leat_tensor_data(&back, leat_resource_handle_t*)[0];
  assert_true(leat_string_view_equals(handle->name, "n"));
  leat_resource_handle_t* first = leat_tensor_data(&tensor, leat_resource_handle_t*)[0];
  assert_true(handle->type_hash == first->type_hash);
  leat_tensor_release(&tensor);
  leat_tensor_release(&back);
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_fill_the_rest_with_the_last),
      cmocka_unit_test(content_is_taken_as_it_is),
      cmocka_unit_test(strings_are_read_both_ways),
      cmocka_unit_test(lies_are_refused),
      cmocka_unit_test(every_dtype_comes_back),
      cmocka_unit_test(handles_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
