// Elements of string, resource and variant tensors own memory, so copying and destroying them is
// more than copying bytes. Each kind is copied over elements that already hold something, and onto
// itself, because assignment has to release what it replaces and must survive source and target
// being the same. Strings are tried in all their forms (inline, allocated, a view of borrowed
// bytes): a copy never borrows. References are counted by a variant of the test's own. A variant
// that contains a tensor of variants may be nested 300,000 deep by a client, and releasing such a
// tower must neither overflow the stack nor leave a level behind.
#include "tensor/object.h"

#include <stdlib.h>

#include "base/test.h"
#include "tensor/tensor.h"

#define LONG_TEXT "a string that is far too long for the 24 bytes of the object itself"

static leat_string_view_t view(const TF_TString* string) {
  return leat_string_view_make(TF_TString_GetDataPointer(string), TF_TString_GetSize(string));
}

static void strings_of_every_form_are_copied(void** state) {
  (void)state;
  static const char borrowed[] = LONG_TEXT;
  TF_TString source[4], target[4];
  memset(source, 0, sizeof(source));
  memset(target, 0, sizeof(target));
  assert_null(leat_object_set_string(&source[1], LEAT_SV("short")));
  assert_null(leat_object_set_string(&source[2], LEAT_SV(LONG_TEXT)));
  TF_TString_AssignView(&source[3], borrowed, sizeof(borrowed) - 1);
  assert_null(leat_object_set_string(&target[0], LEAT_SV(LONG_TEXT "to be replaced")));
  assert_null(leat_object_set_string(&target[1], LEAT_SV(LONG_TEXT "to be replaced")));
  assert_null(leat_object_copy(LEAT_DTYPE_STRING, source, target, 4));
  for (int i = 0; i < 4; ++i) {
    assert_true(leat_string_view_equal(view(&source[i]), view(&target[i])));
  }
  assert_ptr_not_equal(view(&target[3]).data, borrowed);
  assert_null(leat_object_copy(LEAT_DTYPE_STRING, source, source, 4));
  assert_true(leat_string_view_equals(view(&source[2]), LONG_TEXT));
  leat_object_destroy(LEAT_DTYPE_STRING, source, 4);
  leat_object_destroy(LEAT_DTYPE_STRING, target, 4);
}

static void a_handle_keeps_its_names(void** state) {
  (void)state;
  char name[] = "w";
  leat_resource_handle_t *handle = NULL, *other = NULL;
  assert_null(leat_resource_handle_create(LEAT_SV("/device:CPU:0"), LEAT_SV(""),
                                          leat_string_view_from(name), LEAT_SV("Var"), &handle));
  name[0] = 'x';
  assert_true(leat_string_view_equals(handle->name, "w"));
  assert_true(leat_string_view_equals(handle->container, "localhost"));
  assert_true(leat_string_view_equals(handle->device, "/device:CPU:0"));
  assert_true(leat_string_view_equals(handle->type_name, "Var"));
  assert_int_equal(handle->name.data[1], 0);
  assert_null(leat_resource_handle_create(LEAT_SV("d"), LEAT_SV("c"), LEAT_SV("n"),
                                          LEAT_SV("Queue"), &other));
  assert_true(handle->type_hash != other->type_hash);

  leat_resource_handle_t* source[3] = {handle, NULL, handle};
  leat_resource_handle_t* target[3] = {NULL, other, NULL};  // |other| is owned by the array
  assert_null(leat_object_copy(LEAT_DTYPE_RESOURCE, source, target, 3));
  assert_int_equal(handle->references, 3);
  assert_null(leat_object_copy(LEAT_DTYPE_RESOURCE, target, target, 3));
  assert_int_equal(handle->references, 3);
  leat_object_destroy(LEAT_DTYPE_RESOURCE, target, 3);
  assert_int_equal(handle->references, 1);
  leat_resource_handle_release(handle);
  leat_resource_handle_release(NULL);
}

static void count_up(void* self) { ++*(int*)self; }
static void count_down(void* self) { --*(int*)self; }

static void variants_are_retained_and_released(void** state) {
  (void)state;
  static const leat_variant_vtable_t vtable = {
      .type_name = "test", .retain = count_up, .release = count_down};
  int references = 1;
  leat_variant_t source[2] = {{&vtable, &references}, {0}};
  leat_variant_t target[2] = {{0}, {0}};
  assert_null(leat_object_copy(LEAT_DTYPE_VARIANT, source, target, 2));
  assert_int_equal(references, 2);
  assert_null(leat_object_copy(LEAT_DTYPE_VARIANT, source, target, 2));
  assert_int_equal(references, 2);
  leat_object_destroy(LEAT_DTYPE_VARIANT, target, 2);
  assert_int_equal(references, 1);
}

// A variant that is a vector of three variants: nothing, the next level, a leaf.
typedef struct level_s {
  leat_tensor_t inside;
  int* alive;
} level_t;

static void level_release(void* self) {
  level_t* level = self;
  --*level->alive;
  leat_tensor_release(&level->inside);
  free(level);
}

static const leat_variant_vtable_t kLevel = {.type_name = "level", .release = level_release};

static leat_tensor_t wrap_level(leat_tensor_t inside, int* alive) {
  leat_tensor_t outside;
  leat_shape_t three = leat_shape_vector(3);
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_VARIANT, &three,
                                      &outside));
  for (int i = 1; i < 3; ++i) {
    level_t* level = malloc(sizeof *level);
    *level = (level_t){.alive = alive};
    if (i == 1) level->inside = inside;
    ++*alive;
    leat_tensor_data(&outside, leat_variant_t)[i] = (leat_variant_t){&kLevel, level};
  }
  return outside;
}

// All of a tower is gone when its release returns, and the stack was enough for it.
static void towers_of_variants_are_released(void** state) {
  (void)state;
  static const int heights[] = {1, 31, 32, 33, 34, 1000, 300000};
  for (size_t h = 0; h < LEAT_ARRAY_SIZE(heights); ++h) {
    int alive = 0;
    leat_tensor_t tower = {0};
    for (int i = 0; i < heights[h]; ++i) tower = wrap_level(tower, &alive);
    assert_int_equal(alive, 2 * heights[h]);
    leat_tensor_release(&tower);
    assert_int_equal(alive, 0);
  }
}

static void plain_types_are_no_objects(void** state) {
  (void)state;
  int value = 1;
  leat_status_t status = leat_object_copy(LEAT_DTYPE_INT32, &value, &value, 1);
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_of_every_form_are_copied),
      cmocka_unit_test(a_handle_keeps_its_names),
      cmocka_unit_test(variants_are_retained_and_released),
      cmocka_unit_test(towers_of_variants_are_released),
      cmocka_unit_test(plain_types_are_no_objects),
  };
  return cmocka_run_group_tests_name("tensor.object", tests, NULL, NULL);
}
