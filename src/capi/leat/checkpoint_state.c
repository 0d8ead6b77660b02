// The state file `checkpoint` in a directory of checkpoints: it lists the checkpoints there, oldest
// first, and names the newest, in the text format of TensorFlow's CheckpointState. Publishing a
// checkpoint appends it to the list and removes those that are too many.
//
// The order of steps keeps every checkpoint that the file names readable, even if the process dies
// between any two of them:
//
//     new checkpoint complete  ->  state file replaced atomically  ->  old checkpoints removed
//
// A checkpoint's index is removed before its data, so that whoever still finds the index finds the
// data too, or a complete answer that there is no checkpoint. Paths inside the directory are
// written relative to it, which lets the directory be moved.
#include <stdlib.h>
#include <string.h>

#include "base/file_pattern.h"
#include "capi/handles.h"
#include "formats/checkpoint/bundle.h"
#include "formats/wire/text.h"
#include "leat/files.h"

#define STATE_FILE "checkpoint"

typedef struct state_s {
  leat_arena_t arena;
  leat_pb_checkpoint_state_t proto;
} state_t;

static leat_status_t state_path(leat_arena_t* arena, const char* directory, const char** out_path) {
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/" STATE_FILE, directory));
  *out_path = path.data;
  return leat_ok_status();
}

static leat_status_t read_state(const char* directory, state_t* state) {
  leat_file_system_t* fs = leat_file_system_default();
  const char* path;
  char* text;
  size_t size;
  LEAT_RETURN_IF_ERROR(state_path(&state->arena, directory, &path));
  LEAT_RETURN_IF_ERROR(leat_file_read_all(fs, path, leat_allocator_system(), &text, &size));
  leat_string_view_t copy;
  leat_status_t status =
      leat_arena_copy_string(&state->arena, leat_string_view_make(text, size), &copy);
  leat_allocator_free(leat_allocator_system(), text);
  if (status) return status;
  status = leat_text_parse(&leat_pb_checkpoint_state_descriptor, copy, &state->arena,
                           &state->proto);
  return status ? leat_status_annotate(status, "Reading '%s' failed", path) : status;
}

// Makes |path| absolute or relative to the working directory: paths in the state file may be
// relative to its directory.
static leat_status_t resolve(leat_arena_t* arena, const char* directory, leat_string_view_t path,
                             leat_string_view_t* out_path) {
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, path, out_path));
  if (leat_file_root_size(out_path->data)) return leat_ok_status();
  return leat_arena_print(arena, out_path, "%s/%.*s", directory, LEAT_SV_ARG(path));
}

// Whether the checkpoint |prefix| has an index. Failures other than NOT_FOUND are returned.
static leat_status_t find_index(leat_arena_t* arena, leat_string_view_t prefix, bool* out_found) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_string_view_t index;
  leat_file_stat_t stat;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &index, "%.*s.index", LEAT_SV_ARG(prefix)));
  leat_status_t status = fs->vtable->stat(fs, index.data, &stat);
  *out_found = !status;
  if (!status || leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  return leat_ok_status();
}

// Finds the checkpoint that is number |index| from the newest on: the one that the state file names
// as such, and then those of its list from the end. Those without an index do not count, because
// they were being replaced or were removed. Where none has one, the named one is number 0, so that
// reading it says what is missing. The caller frees |*out_path|.
static leat_status_t find(const char* directory, int index, state_t* state, char** out_path) {
  LEAT_RETURN_IF_ERROR(read_state(directory, state));
  const leat_pb_string_list_t* all = &state->proto.all_model_checkpoint_paths;
  leat_string_view_t named, path;
  bool found;
  int number = -1;
  LEAT_RETURN_IF_ERROR(
      resolve(&state->arena, directory, state->proto.model_checkpoint_path, &named));
  path = named;
  LEAT_RETURN_IF_ERROR(find_index(&state->arena, path, &found));
  number += found;
  for (size_t i = all->count; i > 0 && number < index; --i) {
    LEAT_RETURN_IF_ERROR(resolve(&state->arena, directory, all->items[i - 1], &path));
    if (leat_string_view_equal(path, named)) continue;
    LEAT_RETURN_IF_ERROR(find_index(&state->arena, path, &found));
    number += found;
  }
  if (number < 0 && index == 0) path = named;
  if (number < index && index != 0) {
    return leat_make_status(LEAT_OUT_OF_RANGE,
                            "Finding a checkpoint failed: the index is %d, must be below %d, the "
                            "count of those in '%s'",
                            index, number + 1, directory);
  }
  *out_path = strdup(path.data);
  if (*out_path) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory for a path");
}

char* leat_checkpoint_at(const char* directory, int index, TF_Status* status) {
  state_t state = {0};
  char* path = NULL;
  leat_arena_initialize(leat_allocator_system(), 0, &state.arena);
  leat_capi_status_set(status, find(directory, index < 0 ? 0 : index, &state, &path));
  leat_arena_deinitialize(&state.arena);
  return path;
}

char* leat_checkpoint_latest(const char* directory, TF_Status* status) {
  return leat_checkpoint_at(directory, 0, status);
}

// |prefix| as the state file writes it: without |directory| when it lies in there.
static leat_string_view_t relative(const char* directory, const char* prefix) {
  size_t size = strlen(directory);
  if (!strncmp(prefix, directory, size) && prefix[size] == '/') prefix += size + 1;
  return leat_string_view_from(prefix);
}

// Moves or appends |newest| to the end of the list and cuts the list to |keep| items (0: no limit).
// The items that were cut off are |out_removed|.
static leat_status_t advance(state_t* state, leat_string_view_t newest, int keep,
                             leat_pb_string_list_t* out_removed) {
  leat_pb_string_list_t* all = &state->proto.all_model_checkpoint_paths;
  leat_string_view_t* items;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&state->arena, all->count + 1, &items));
  size_t count = 0;
  for (size_t i = 0; i < all->count; ++i) {
    if (!leat_string_view_equal(all->items[i], newest)) items[count++] = all->items[i];
  }
  items[count++] = newest;
  size_t kept = keep > 0 && (size_t)keep < count ? (size_t)keep : count;
  *out_removed = (leat_pb_string_list_t){items, count - kept};
  *all = (leat_pb_string_list_t){items + (count - kept), kept};
  state->proto.model_checkpoint_path = newest;
  state->proto.all_model_checkpoint_timestamps.count = 0;
  return leat_ok_status();
}

static leat_status_t write_state(const char* directory, state_t* state) {
  const char* path;
  LEAT_RETURN_IF_ERROR(state_path(&state->arena, directory, &path));
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_text_print(&leat_pb_checkpoint_state_descriptor, &state->proto,
                                         LEAT_TEXT_LINES, &text);
  if (!status) status = leat_status_clone(text.status);
  if (!status) {
    status = leat_file_write_atomically(leat_file_system_default(), path, text.data, text.size);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t remove_file(void* data, const char* path) {
  leat_file_system_t* fs = data;
  // a file that is gone already is what the caller wants
  leat_status_free(fs->vtable->remove(fs, path));
  return leat_ok_status();
}

// Removes a checkpoint: its index first, then all its data files. The prefix is escaped, since it
// may contain characters that a pattern interprets.
static leat_status_t remove_checkpoint(leat_arena_t* arena, leat_string_view_t prefix) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_string_view_t index, pattern;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &index, "%.*s.index", LEAT_SV_ARG(prefix)));
  LEAT_RETURN_IF_ERROR(remove_file(fs, index.data));
  LEAT_RETURN_IF_ERROR(leat_file_pattern_escape(arena, prefix, &pattern));
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(arena, &pattern, "%.*s.data-*-of-*", LEAT_SV_ARG(pattern)));
  return leat_file_match(fs, pattern.data, remove_file, fs);
}

void leat_checkpoint_remove(const char* prefix, TF_Status* status) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_capi_status_set(status, remove_checkpoint(&arena, leat_string_view_from(prefix)));
  leat_arena_deinitialize(&arena);
}

// Reads the state, advances and writes it, and then removes old checkpoints.
static leat_status_t publish(const char* directory, const char* prefix, int keep, state_t* state) {
  leat_status_t status = read_state(directory, state);
  leat_status_code_t code = leat_status_code(status);
  // no state file, or one that is damaged: a new list begins
  if (code == LEAT_NOT_FOUND || code == LEAT_INVALID_ARGUMENT) {
    leat_status_free(status);
    state->proto = (leat_pb_checkpoint_state_t){0};
  } else if (status) {
    return status;
  }
  leat_pb_string_list_t removed;
  LEAT_RETURN_IF_ERROR(advance(state, relative(directory, prefix), keep, &removed));
  LEAT_RETURN_IF_ERROR(write_state(directory, state));
  for (size_t i = 0; i < removed.count; ++i) {
    leat_string_view_t full;
    LEAT_RETURN_IF_ERROR(resolve(&state->arena, directory, removed.items[i], &full));
    LEAT_RETURN_IF_ERROR(remove_checkpoint(&state->arena, full));
  }
  return leat_ok_status();
}

void leat_checkpoint_publish(const char* directory, const char* prefix, int keep,
                             TF_Status* status) {
  state_t state = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &state.arena);
  leat_capi_status_set(status, publish(directory, prefix, keep, &state));
  leat_arena_deinitialize(&state.arena);
}
