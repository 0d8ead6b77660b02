// GetSessionHandle keeps a tensor in the session and gives a text by which later steps find it, so
// that a client need not fetch and feed a value that it only passes on. What one step keeps, a
// later one finds, also from a node on another device, until it is deleted. Handles are texts that
// a client holds and may garble: those that are no handle, or name one that was deleted, find
// nothing and end in an error. Each keep makes a new handle, even for the same node.
#include "session/scene.h"

static const leat_attr_t kFloat = {{"dtype", 5},
                                   {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_FLOAT}};

typedef struct handles_s {
  scene_t scene;
  leat_output_t value, keep, handle, found;
  int32_t forget;
} handles_t;

static void handles_open(handles_t* h, const char* finder) {
  scene_t* s = &h->scene;
  scene_open(s);
  s->options.cpu_device_count = 2;
  h->value = scene_placeholder(s, "value", LEAT_DTYPE_FLOAT);
  h->keep = scene_output(s, "GetSessionHandle", "keep", "", LEAT_INPUTS(h->value), LEAT_NO_ATTRS);
  h->handle = scene_placeholder(s, "handle", LEAT_DTYPE_STRING);
  h->found = scene_output(s, "GetSessionTensor", "found", finder, LEAT_INPUTS(h->handle),
                          (leat_attrs_t){&kFloat, 1});
  h->forget =
      scene_node(s, "DeleteSessionTensor", "forget", "", LEAT_INPUTS(h->handle), LEAT_NO_ATTRS);
}

static leat_tensor_t keep(handles_t* h, float number) {
  leat_tensor_t fed = scene_value(number), handle;
  LEAT_EXPECT_OK(
      scene_run(&h->scene, LEAT_INPUTS(h->value), &fed, LEAT_INPUTS(h->keep), &handle, NULL, 0));
  return handle;
}

static leat_status_t find(handles_t* h, const leat_tensor_t* handle, float* out_number) {
  leat_tensor_t fed = leat_tensor_share(handle), found;
  LEAT_RETURN_IF_ERROR(
      scene_run(&h->scene, LEAT_INPUTS(h->handle), &fed, LEAT_INPUTS(h->found), &found, NULL, 0));
  *out_number = *leat_tensor_data(&found, const float);
  leat_tensor_release(&found);
  return leat_ok_status();
}

static leat_status_t forget(handles_t* h, const leat_tensor_t* handle) {
  leat_tensor_t fed = leat_tensor_share(handle);
  return scene_run(&h->scene, LEAT_INPUTS(h->handle), &fed, LEAT_NO_INPUTS, NULL, &h->forget, 1);
}

static void a_kept_tensor_is_found_until_it_is_deleted(void** state) {
  for (int device = 0; device < 2; ++device) {
    handles_t h;
    float number;
    handles_open(&h, device ? "/device:CPU:1" : "/device:CPU:0");
    leat_tensor_t first = keep(&h, 7), second = keep(&h, 8);
    leat_string_view_t text = leat_tensor_string_at(&second, 0);
    assert_true(
        leat_string_view_equals(text, "keep;1;/job:localhost/replica:0/task:0/device:CPU:0"));
    LEAT_EXPECT_OK(find(&h, &first, &number));
    assert_true(number == 7);
    LEAT_EXPECT_OK(forget(&h, &first));
    scene_expect(find(&h, &first, &number), LEAT_INVALID_ARGUMENT, "not in the session store");
    scene_expect(forget(&h, &first), LEAT_INVALID_ARGUMENT, "Failed to delete");
    LEAT_EXPECT_OK(find(&h, &second, &number));
    assert_true(number == 8);
    leat_tensor_release(&first);
    leat_tensor_release(&second);
    scene_close(&h.scene);
  }
}

static void text_that_is_no_handle_finds_nothing(void** state) {
  handles_t h;
  float number;
  handles_open(&h, "");
  leat_tensor_t kept = keep(&h, 7);
  static const char* const kTexts[] = {"", ";", "keep;0;", "keep;x;/device:CPU:0", ";;;"};
  for (size_t i = 0; i < sizeof kTexts / sizeof *kTexts; ++i) {
    leat_tensor_t handle;
    leat_shape_t scalar = leat_shape_scalar();
    LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &scalar,
                                        &handle));
    LEAT_EXPECT_OK(leat_tensor_set_string(&handle, 0, leat_string_view_from(kTexts[i])));
    scene_expect(find(&h, &handle, &number), LEAT_INVALID_ARGUMENT, "not in the session store");
    leat_tensor_release(&handle);
  }
  leat_tensor_release(&kept);
  scene_close(&h.scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kept_tensor_is_found_until_it_is_deleted),
      cmocka_unit_test(text_that_is_no_handle_finds_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
