// A journal whose machine loses power at each call of the file system in turn, in each way in which
// a disk may forget what was not synced: whatever was answered for is there at the next start, and
// of the write that was under way at most a beginning. The second start dies as well, at the same
// call, so that what a start does to the files of the one before is seen too.
#include "base/test.h"
#include "crash_file_system.h"
#include "data_service/dispatcher_update.h"
#include "data_service/journal.h"

enum { WRITES = 3, IDS = 2, STARTS = 2, MOST_CALLS = 200 };

typedef struct ids_s {
  int64_t items[64];
  size_t count;
} ids_t;

static leat_status_t see(void* data, const leat_pb_dispatcher_update_t* update) {
  ids_t* ids = data;
  assert_int_equal(update->update_type_case, LEAT_CHANGE_FINISH_TASK);
  assert_true(ids->count < LEAT_ARRAY_SIZE(ids->items));
  ids->items[ids->count++] = update->finish_task->task_id;
  return leat_ok_status();
}

static leat_status_t open_journal(ids_t* ids, leat_journal_t** out_journal) {
  *ids = (ids_t){0};
  return leat_journal_open(leat_file_system_default(), LEAT_SV("crash://disk/w/j"), see, ids,
                           out_journal);
}

static leat_status_t write_ids(leat_journal_t* journal, int64_t first) {
  leat_pb_finish_task_update_t tasks[IDS];
  leat_pb_dispatcher_update_t updates[IDS];
  for (int i = 0; i < IDS; ++i) {
    tasks[i].task_id = first + i;
    updates[i] = (leat_pb_dispatcher_update_t){.update_type_case = LEAT_CHANGE_FINISH_TASK,
                                               .finish_task = &tasks[i]};
  }
  return leat_journal_write(journal, updates, IDS);
}

// Goes on with the journal until the process dies. |inout_ids| are those that were answered for,
// and the next ones count on from them; |*inout_under_way|: those of one more write may be there.
static void run(ids_t* inout_ids, bool* inout_under_way) {
  leat_journal_t* journal;
  ids_t found;
  leat_status_t status = open_journal(&found, &journal);
  if (!status) {
    const size_t most = inout_ids->count + (*inout_under_way ? IDS : 0);
    assert_true(found.count >= inout_ids->count && found.count <= most);
    for (size_t i = 0; i < found.count; ++i) assert_int_equal(found.items[i], i);
    *inout_ids = found;
    *inout_under_way = false;
  }
  for (int i = 0; i < WRITES && !status; ++i) {
    status = write_ids(journal, (int64_t)inout_ids->count);
    *inout_under_way = status != NULL;
    for (int k = 0; k < IDS && !status; ++k) {
      inout_ids->items[inout_ids->count] = (int64_t)inout_ids->count;
      ++inout_ids->count;
    }
    if (status) leat_journal_close(journal);
  }
  if (!status) leat_journal_close(journal);
  leat_status_free(status);
}

static void what_was_answered_for_is_there(void** state) {
  int64_t nth = 1;
  for (bool has_died = true; has_died; ++nth) {
    has_died = false;
    assert_true(nth < MOST_CALLS);
    for (int kind = 0; kind < CRASH_KINDS; ++kind) {
      ids_t ids = {0};
      bool under_way = false;
      crash_file_system_reset();
      for (int start = 0; start < STARTS; ++start) {
        crash_file_system_die_at(nth);
        run(&ids, &under_way);
        has_died |= crash_file_system_is_dead();
        crash_file_system_crash((crash_kind_t)kind, (uint64_t)nth);
      }
      crash_file_system_die_at(0);
      run(&ids, &under_way);
      assert_true(ids.count >= WRITES * IDS);  // the last start has not died
    }
  }
  assert_true(nth > 10);
  crash_file_system_free();
}

int main(void) {
  const struct CMUnitTest cases[] = {cmocka_unit_test(what_was_answered_for_is_there)};
  return cmocka_run_group_tests(cases, NULL, NULL);
}
