// The files of a journal: written and read back over several starts, cut at every byte, changed at
// every byte, and written while each call to the file system fails or the disk is full. What counts
// is that no change is lost that somebody was told of, that a torn end is no error and any other
// damage is one which names its file and record, and that the bytes are TensorFlow's: a journal
// that its dispatcher wrote is compared. tests/data_service/ has dispatchers that are killed.
#include "data_service/journal.h"

#include <stdio.h>
#include <string.h>

#include "base/file_system_faulty.h"
#include "base/test.h"
#include "data_service/dispatcher_update.h"
#include "scratch.h"

// Records of a journal of TensorFlow 2.21: a job, an iteration, a split and the end of splits.
static const char kTensorFlow[] =
    "\x14\x00\x00\x00\x00\x00\x00\x00\x5e\x3d\x29\x15\x72\x12\x08\x88\x27\x12\x01\x6a\x1a\x04"
    "\x31\x30\x30\x30\x22\x02\x08\x01\x38\x01\xe1\xce\x5d\x01"
    "\x0c\x00\x00\x00\x00\x00\x00\x00\xf4\xc8\xfe\x0a\x12\x0a\x08\xd0\x0f\x10\x88\x27\x18\x01"
    "\x20\x01\xe9\x89\xc3\x06"
    "\x05\x00\x00\x00\x00\x00\x00\x00\xea\xb2\x04\x3e\x42\x03\x08\xd0\x0f\xb9\x65\x51\xad"
    "\x07\x00\x00\x00\x00\x00\x00\x00\xbb\xd7\x9f\x11\x42\x05\x08\xd0\x0f\x18\x01\x81\xf5\x99"
    "\x00";
#define TENSORFLOW_BYTES (sizeof kTensorFlow - 1)
static const size_t kEnds[] = {36, 64, 85, 108};  // of its records

// What a reading has seen: the ids of the tasks that finished, in their order.
typedef struct seen_s {
  int64_t ids[64];
  size_t count;
} seen_t;

static leat_status_t see(void* data, const leat_pb_dispatcher_update_t* update) {
  seen_t* seen = data;
  assert_int_equal(update->update_type_case, LEAT_CHANGE_FINISH_TASK);
  assert_true(seen->count < LEAT_ARRAY_SIZE(seen->ids));
  seen->ids[seen->count++] = update->finish_task->task_id;
  return leat_ok_status();
}

static leat_status_t open_journal(leat_file_system_t* fs, seen_t* seen,
                                  leat_journal_t** out_journal) {
  *seen = (seen_t){0};
  *out_journal = NULL;
  return leat_journal_open(fs, LEAT_SV("j"), see, seen, out_journal);
}

static leat_status_t write_ids(leat_journal_t* journal, int64_t first, size_t count) {
  leat_pb_finish_task_update_t tasks[8];
  leat_pb_dispatcher_update_t updates[8];
  for (size_t i = 0; i < count; ++i) {
    tasks[i].task_id = first + (int64_t)i;
    updates[i] = (leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_FINISH_TASK,
                                               .finish_task = &tasks[i]};
  }
  return leat_journal_write(journal, updates, count);
}

static void empty_directory(void) {
  char name[32];
  for (int i = 0; i < 4; ++i) {
    snprintf(name, sizeof name, "j/journal_%d", i);
    remove(name);
  }
}

static void expect_ids(const seen_t* seen, size_t count) {
  assert_int_equal(seen->count, count);
  for (size_t i = 0; i < count; ++i) assert_int_equal(seen->ids[i], i);
}

// ---- Whole journals -----------------------------------------------------------------------------

static void changes_come_back_after_each_start(void** state) {
  leat_journal_t* journal;
  seen_t seen;
  empty_directory();
  for (int start = 0; start < 4; ++start) {
    LEAT_EXPECT_OK(open_journal(leat_file_system_posix(), &seen, &journal));
    expect_ids(&seen, (size_t)start * 3);
    LEAT_EXPECT_OK(write_ids(journal, start * 3, 1));
    LEAT_EXPECT_OK(write_ids(journal, start * 3 + 1, 2));
    leat_journal_close(journal);
  }
  assert_int_equal(scratch_count("j/journal_"), 4);
}

// Who reads them: a change of each kind that is there, by its fields.
static leat_status_t see_tensorflow(void* data, const leat_pb_dispatcher_update_t* update) {
  int* count = data;
  switch ((*count)++) {
    case 0:
      assert_int_equal(update->update_type_case, LEAT_CHANGE_CREATE_JOB);
      assert_int_equal(update->create_job->job_id, 5000);
      assert_true(leat_string_view_equals(update->create_job->job_name, "j"));
      assert_true(leat_string_view_equals(update->create_job->dataset_id, "1000"));
      assert_int_equal(update->create_job->processing_mode_def->sharding_policy, 1);
      assert_int_equal(update->create_job->target_workers, 1);
      break;
    case 1:
      assert_int_equal(update->create_iteration->iteration_id, 2000);
      assert_int_equal(update->create_iteration->job_id, 5000);
      assert_int_equal(update->create_iteration->repetition, 1);
      assert_int_equal(update->create_iteration->num_split_providers, 1);
      break;
    case 2:
      assert_int_equal(update->produce_split->iteration_id, 2000);
      assert_false(update->produce_split->finished);
      break;
    default:
      assert_true(update->produce_split->finished);
  }
  return leat_ok_status();
}

static void the_bytes_are_those_of_tensorflow(void** state) {
  leat_pb_processing_mode_def_t mode = {.sharding_policy = 1};
  leat_pb_create_job_update_t job = {.job_id = 5000,
                                     .job_name = LEAT_SV("j"),
                                     .dataset_id = LEAT_SV("1000"),
                                     .processing_mode_def = &mode,
                                     .target_workers = 1};
  leat_pb_create_iteration_update_t iteration = {
      .iteration_id = 2000, .job_id = 5000, .repetition = 1, .num_split_providers = 1};
  leat_pb_produce_split_update_t split = {.iteration_id = 2000};
  leat_pb_produce_split_update_t end = {.iteration_id = 2000, .finished = true};
  const leat_pb_dispatcher_update_t updates[] = {
      {.update_type_case = LEAT_CHANGE_CREATE_JOB, .create_job = &job},
      {.update_type_case = LEAT_CHANGE_CREATE_ITERATION, .create_iteration = &iteration},
      {.update_type_case = LEAT_CHANGE_PRODUCE_SPLIT, .produce_split = &split},
      {.update_type_case = LEAT_CHANGE_PRODUCE_SPLIT, .produce_split = &end}};
  leat_journal_t* journal;
  seen_t seen;
  size_t whole_bytes, size;
  char* bytes;
  int count = 0;
  LEAT_EXPECT_OK(leat_journal_read(leat_string_view_make(kTensorFlow, TENSORFLOW_BYTES), false,
                                   see_tensorflow, &count, &whole_bytes));
  assert_int_equal(count, 4);
  assert_int_equal(whole_bytes, TENSORFLOW_BYTES);
  empty_directory();
  LEAT_EXPECT_OK(open_journal(leat_file_system_posix(), &seen, &journal));
  LEAT_EXPECT_OK(leat_journal_write(journal, updates, LEAT_ARRAY_SIZE(updates)));
  leat_journal_close(journal);
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), "j/journal_0",
                                    leat_allocator_system(), &bytes, &size));
  assert_int_equal(size, TENSORFLOW_BYTES);
  assert_memory_equal(bytes, kTensorFlow, size);
  leat_allocator_free(leat_allocator_system(), bytes);
}

// ---- Damage -------------------------------------------------------------------------------------

static leat_status_t count_update(void* data, const leat_pb_dispatcher_update_t* update) {
  ++*(int*)data;
  return leat_ok_status();
}

static void a_torn_end_is_cut_off(void** state) {
  for (size_t size = 0; size <= TENSORFLOW_BYTES; ++size) {
    const leat_string_view_t bytes = leat_string_view_make(kTensorFlow, size);
    size_t whole_bytes, whole = 0;
    leat_journal_t* journal;
    int count = 0;
    while (whole < LEAT_ARRAY_SIZE(kEnds) && kEnds[whole] <= size) ++whole;
    const size_t end = whole ? kEnds[whole - 1] : 0;
    LEAT_EXPECT_OK(leat_journal_read(bytes, true, count_update, &count, &whole_bytes));
    assert_int_equal(count, whole);
    assert_int_equal(whole_bytes, end);
    // Only the last file may end so.
    leat_status_t status = leat_journal_read(bytes, false, count_update, &count, &whole_bytes);
    LEAT_EXPECT_CODE(size == end ? LEAT_OK : LEAT_DATA_LOSS, status);
    // The next dispatcher leaves none behind it, so that the one after reads on.
    empty_directory();
    scratch_write_file("j/journal_0", kTensorFlow, size);
    for (int start = 0; start < 2; ++start) {
      count = 0;
      LEAT_EXPECT_OK(leat_journal_open(leat_file_system_posix(), LEAT_SV("j"), count_update,
                                       &count, &journal));
      assert_int_equal(count, whole);
      leat_journal_close(journal);
    }
  }
}

static void other_damage_is_named(void** state) {
  char bytes[TENSORFLOW_BYTES], record[16];
  leat_journal_t* journal;
  for (size_t i = 0; i < TENSORFLOW_BYTES; ++i) {
    size_t number = 0;
    int count = 0;
    while (kEnds[number] <= i) ++number;
    memcpy(bytes, kTensorFlow, sizeof bytes);
    bytes[i] ^= 0x10;
    empty_directory();
    scratch_write_file("j/journal_0", bytes, sizeof bytes);
    leat_status_t status = leat_journal_open(leat_file_system_posix(), LEAT_SV("j"), count_update,
                                             &count, &journal);
    snprintf(record, sizeof record, "record %zu", number);
    assert_non_null(strstr(leat_status_message(status), record));
    assert_non_null(strstr(leat_status_message(status), "j/journal_0"));
    LEAT_EXPECT_CODE(LEAT_DATA_LOSS, status);
    assert_int_equal(count, number);
  }
}

static void a_missing_file_is_missed(void** state) {
  leat_journal_t* journal;
  int count = 0;
  empty_directory();
  scratch_write_file("j/journal_0", kTensorFlow, kEnds[0]);
  scratch_write_file("j/journal_2", kTensorFlow, kEnds[0]);
  leat_status_t status =
      leat_journal_open(leat_file_system_posix(), LEAT_SV("j"), count_update, &count, &journal);
  assert_non_null(strstr(leat_status_message(status), "journal_2"));
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, status);
  // Who has other names is nobody's file.
  empty_directory();
  scratch_write_file("j/journal_0", kTensorFlow, kEnds[0]);
  scratch_write_text("j/journal_01", "x");
  scratch_write_text("j/journal_", "x");
  scratch_write_text("j/journal_99999999999999999999", "x");
  LEAT_EXPECT_OK(leat_journal_open(leat_file_system_posix(), LEAT_SV("j"), count_update, &count,
                                   &journal));
  assert_int_equal(count, 1);
  leat_journal_close(journal);
  remove("j/journal_01");
  remove("j/journal_");
  remove("j/journal_99999999999999999999");
}

// ---- Failing disks ------------------------------------------------------------------------------

// Opens a journal and writes three times, going on after errors. Returns whether any call failed.
static bool write_with_faults(leat_file_system_t* fs, int64_t* out_ids, size_t* out_count) {
  leat_journal_t* journal;
  seen_t seen;
  leat_status_t status = open_journal(fs, &seen, &journal);
  bool has_failed = status != NULL;
  leat_status_free(status);
  *out_count = 0;
  for (int64_t i = 0; journal && i < 3; ++i) {
    status = write_ids(journal, 10 * i, 2);
    has_failed |= status != NULL;
    for (int64_t k = 0; !status && k < 2; ++k) out_ids[(*out_count)++] = 10 * i + k;
    leat_status_free(status);
  }
  leat_journal_close(journal);
  return has_failed;
}

static void what_was_written_is_there_whichever_call_fails(void** state) {
  leat_file_system_faulty_t faulty;
  bool has_failed = true;
  int64_t n;
  for (n = 1; has_failed; ++n) {
    for (int stays = 0; stays < 2; ++stays) {
      leat_journal_t* journal;
      int64_t ids[6];
      size_t count;
      seen_t seen;
      empty_directory();
      leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
      faulty.failing_call = n;
      faulty.fails_from_then_on = stays;
      has_failed = write_with_faults(&faulty.base, ids, &count);
      if (!stays && count) assert_true(count >= 4);  // one write failed, and the next one did not
      LEAT_EXPECT_OK(open_journal(leat_file_system_posix(), &seen, &journal));
      leat_journal_close(journal);
      // A disk that is gone cannot be cut back, and may have what nobody was answered for.
      assert_true(stays ? seen.count >= count : seen.count == count);
      for (size_t i = 0; i < count; ++i) assert_int_equal(seen.ids[i], ids[i]);
    }
  }
  assert_true(n > 8);  // the loop has seen writes and syncs fail
}

static void a_full_disk_fills_up_again(void** state) {
  leat_file_system_faulty_t faulty;
  leat_journal_t* journal;
  seen_t seen;
  empty_directory();
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  LEAT_EXPECT_OK(open_journal(&faulty.base, &seen, &journal));
  LEAT_EXPECT_OK(write_ids(journal, 0, 2));
  faulty.space_bytes = 25;  // of more than 40
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, write_ids(journal, 100, 2));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, write_ids(journal, 100, 1));
  faulty.space_bytes = UINT64_MAX;
  LEAT_EXPECT_OK(write_ids(journal, 2, 3));
  leat_status_t status = leat_make_status(LEAT_INTERNAL, "no memory");
  leat_journal_fail(journal, status);
  leat_status_free(status);
  LEAT_EXPECT_CODE(LEAT_INTERNAL, write_ids(journal, 100, 1));
  leat_journal_close(journal);
  LEAT_EXPECT_OK(open_journal(leat_file_system_posix(), &seen, &journal));
  leat_journal_close(journal);
  expect_ids(&seen, 5);
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(changes_come_back_after_each_start),
      cmocka_unit_test(the_bytes_are_those_of_tensorflow),
      cmocka_unit_test(a_torn_end_is_cut_off),
      cmocka_unit_test(other_damage_is_named),
      cmocka_unit_test(a_missing_file_is_missed),
      cmocka_unit_test(what_was_written_is_there_whichever_call_fails),
      cmocka_unit_test(a_full_disk_fills_up_again),
  };
  return cmocka_run_group_tests(cases, scratch_set_up, scratch_tear_down);
}
