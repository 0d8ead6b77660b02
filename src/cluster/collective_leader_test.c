// The leader of collectives' groups, asked as the methods of a server ask it.
#include "cluster/collective_leader.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

// A question as it lies in a call's memory, which is gone once the call is answered.
typedef struct question_s {
  char device[40], device_type[4];
  leat_pb_device_attributes_t attributes;
  leat_pb_complete_group_request_t request;
  int told;
} question_t;

static void ask(question_t* q, int task) {
  *q = (question_t){.device_type = "CPU"};
  snprintf(q->device, sizeof q->device, "/job:w/replica:0/task:%d/device:CPU:0", task);
  q->attributes = (leat_pb_device_attributes_t){.name = leat_string_view_from(q->device),
                                                .device_type = leat_string_view_from("CPU")};
  q->request = (leat_pb_complete_group_request_t){
      .group_key = 1, .group_size = 3, .device_type = leat_string_view_from(q->device_type),
      .device_attributes = &q->attributes};
}

// A leat_group_told_fn_t: a call that is answered, with which its question goes.
static void answer(void* data, leat_status_t status,
                   const leat_pb_complete_group_response_t* response) {
  question_t* q = data;
  assert_null(status);
  assert_true(leat_string_view_equal(response->device_type, LEAT_SV("CPU")));
  assert_int_equal(response->num_tasks, 3);
  assert_int_equal(response->device_attributes.count, 3);
  memset(q->device, '?', sizeof q->device);
  memset(q->device_type, '?', sizeof q->device_type);
  ++q->told;
}

// The answers to the others may not depend on the question of the last one, who is told as well.
static void test_answers_outlive_questions(void** state) {
  leat_collective_leader_t* leader;
  question_t questions[3];
  LEAT_EXPECT_OK(leat_collective_leader_create(leat_allocator_system(), &leader));
  for (int i = 0; i < 3; ++i) {
    ask(&questions[i], i);
    leat_collective_leader_join(leader, &questions[i].request, answer, &questions[i]);
    assert_int_equal(questions[0].told, i == 2);
  }
  for (int i = 0; i < 3; ++i) assert_int_equal(questions[i].told, 1);
  leat_collective_leader_free(leader);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers_outlive_questions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
