// How a checkpoint replaces an older one of its prefix, so that one of the two is always whole.
//
// A bundle is an index and data files, and a file system renames only one file at a time. Readers
// come in through the index, and TensorFlow's reader derives the names of the data files from it:
// an entry that says shard i in an index whose header says N shards lies in the file
// <prefix>.data-<i>-of-<N>. So the index decides which data files count, and replacing it is the
// one step that publishes. What must hold is that no data file that the old index names is touched
// before that step, and that all data files that the new index names are on the disk by then:
//
//   1. choose the first shard's number: 0, or the next under which none of the names that are
//      needed is taken. Where there is no index there is no checkpoint to protect, and the number
//      is 0, as users expect.
//   2. write the index, whose entries say these numbers, to a temporary file, and sync it
//   3. rename the data files, which are synced, to their names, and sync the directory
//   4. rename the index; this publishes. Sync the directory.
//   5. remove all other data files of the prefix: those of the old checkpoint and those that a
//      process which died between 3 and 4 left.
//
// So a prefix that is saved under again and again alternates between data-00000-of-00001 and
// data-00001-of-00001. It must be the shard's number that changes and not N, because TensorFlow's
// MergeV2Checkpoints takes the sum of the parts' N for the number of files that it renamed.
// leat_bundle_writer_finish and leat_bundle_merge are the callers.
#include <stdlib.h>

#include "base/file_pattern.h"
#include "base/fingerprint.h"
#include "base/sync.h"
#include "formats/checkpoint/bundle_index.h"
#include "formats/path.h"

#define COPY_BYTES ((size_t)1 << 20)
#define MAX_SHARD 99999  // names have five digits

// Saves under one prefix exclude each other; others rarely wait. One lock per prefix would need a
// table of them.
#define LOCK {PTHREAD_MUTEX_INITIALIZER}
static leat_mutex_t locks[8] = {LOCK, LOCK, LOCK, LOCK, LOCK, LOCK, LOCK, LOCK};

typedef struct publish_s {
  leat_file_system_t* fs;
  leat_arena_t* arena;
  const char* prefix;
  const leat_bundle_shard_t* shards;
  const char** targets;  // of the shards
  size_t count;
  size_t placed;  // shards that lie under their new names
  int first;      // number of the first shard in the names
} publish_t;

// ---- Names --------------------------------------------------------------------------------------

// Whether there is something at |path|. An error other than NOT_FOUND is one: to take a file for
// absent could overwrite the old checkpoint.
static leat_status_t find(leat_file_system_t* fs, const char* path, bool* out_found) {
  leat_file_stat_t stat;
  leat_status_t status = fs->vtable->stat(fs, path, &stat);
  *out_found = !status;
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  return leat_ok_status();
}

static leat_status_t find_any_target(publish_t* p, bool* out_found) {
  *out_found = false;
  for (size_t i = 0; i < p->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_bundle_data_path(
        p->prefix, p->first + (int)i, (int)p->count, p->arena, &p->targets[i]));
    if (!*out_found) LEAT_RETURN_IF_ERROR(find(p->fs, p->targets[i], out_found));
  }
  return leat_ok_status();
}

// Sets |first| and |targets|.
static leat_status_t choose_names(publish_t* p) {
  const char* index_path;
  bool replaces, is_taken;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(p->arena, p->count, &p->targets));
  LEAT_RETURN_IF_ERROR(leat_bundle_index_path(p->prefix, p->arena, &index_path));
  LEAT_RETURN_IF_ERROR(find(p->fs, index_path, &replaces));
  for (p->first = 0; p->first + (int)p->count <= MAX_SHARD; ++p->first) {
    LEAT_RETURN_IF_ERROR(find_any_target(p, &is_taken));
    if (!is_taken || !replaces) return leat_ok_status();
  }
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Checkpoint write failed for '%s': every number of a shard up to %d is "
                          "taken", p->prefix, MAX_SHARD);
}

// ---- Data files ---------------------------------------------------------------------------------

static leat_status_t copy_bytes(leat_file_t* from, leat_file_t* to, void* buffer) {
  uint64_t offset = 0;
  for (size_t read = COPY_BYTES; read == COPY_BYTES; offset += read) {
    LEAT_RETURN_IF_ERROR(from->vtable->read_at(from, offset, buffer, COPY_BYTES, &read));
    LEAT_RETURN_IF_ERROR(to->vtable->write(to, buffer, read));
  }
  return to->vtable->sync(to);
}

static leat_status_t copy_file(leat_file_system_t* fs, const char* from_path,
                               const char* to_path) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_file_t *from = NULL, *to = NULL;
  void* buffer;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(allocator, 16, COPY_BYTES, &buffer));
  leat_status_t status = leat_file_open(fs, from_path, LEAT_FILE_READ, allocator, &from);
  if (!status) status = leat_file_open(fs, to_path, LEAT_FILE_WRITE, allocator, &to);
  if (!status) status = copy_bytes(from, to, buffer);
  status = leat_status_join(status, leat_file_close(to));
  status = leat_status_join(status, leat_file_close(from));
  if (status) leat_status_free(fs->vtable->remove(fs, to_path));
  leat_allocator_free(allocator, buffer);
  return status;
}

static leat_status_t place_shards(publish_t* p, const char* directory) {
  for (; p->placed < p->count; ++p->placed) {
    const leat_bundle_shard_t* shard = &p->shards[p->placed];
    const char* target = p->targets[p->placed];
    LEAT_RETURN_IF_ERROR(shard->is_kept ? copy_file(p->fs, shard->path, target)
                                        : p->fs->vtable->rename(p->fs, shard->path, target));
  }
  return p->fs->vtable->sync_directory(p->fs, directory);
}

// Gives shards their old names back, as long as no index can name the new ones.
static void take_shards_back(publish_t* p) {
  for (size_t i = 0; i < p->placed; ++i) {
    leat_status_free(p->shards[i].is_kept
                         ? p->fs->vtable->remove(p->fs, p->targets[i])
                         : p->fs->vtable->rename(p->fs, p->targets[i], p->shards[i].path));
  }
}

static const char* last_component(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Reads the number of a shard or of shards: five digits or more, and no sign, which strtoul takes.
static bool read_number(const char** text, unsigned long* out_number) {
  const char* begin = *text;
  size_t digits = strspn(begin, "0123456789");
  *text += digits;
  *out_number = strtoul(begin, NULL, 10);
  return digits >= 5;
}

// Whether |path|, which lies in the directory of the prefix, is that of a data file of this prefix
// which the published index does not name. Directories may be spelt in two ways ("a//b").
static bool is_left_over(const publish_t* p, const char* path) {
  const char *prefix = last_component(p->prefix), *name = last_component(path);
  size_t size = strlen(prefix);
  unsigned long shard, total;
  if (strncmp(name, prefix, size) != 0 || strncmp(name + size, ".data-", 6) != 0) return false;
  const char* number = name + size + 6;
  if (!read_number(&number, &shard) || strncmp(number, "-of-", 4) != 0) return false;
  number += 4;
  if (!read_number(&number, &total) || *number) return false;
  unsigned long first = (unsigned long)p->first;
  return total != p->count || shard < first || shard >= first + p->count;
}

static leat_status_t remove_if_left_over(void* data, const char* path) {
  const publish_t* p = data;
  if (is_left_over(p, path)) leat_status_free(p->fs->vtable->remove(p->fs, path));
  return leat_ok_status();
}

// The new checkpoint stands: what cannot be removed is only in the way, and the next save tries
// again. The numbers that were found taken go first, without a listing: where that fails, each save
// would leave its data behind and the next would have one number more to try.
static void remove_left_over(publish_t* p) {
  const char* path;
  leat_string_view_t pattern;
  for (int shard = 0; shard < p->first; ++shard) {
    leat_status_t known =
        leat_bundle_data_path(p->prefix, shard, (int)p->count, p->arena, &path);
    if (!known) known = p->fs->vtable->remove(p->fs, path);
    leat_status_free(known);
  }
  leat_status_t status =
      leat_file_pattern_escape(p->arena, leat_string_view_from(p->prefix), &pattern);
  if (!status) {
    status = leat_arena_print(p->arena, &pattern, "%.*s.data-*-of-*", LEAT_SV_ARG(pattern));
  }
  if (!status) status = leat_file_match(p->fs, pattern.data, remove_if_left_over, p);
  leat_status_free(status);
}

// ---- The whole ----------------------------------------------------------------------------------

// Takes the steps 1 to 5. After a failure of step 3 the data files get their former names back.
static leat_status_t publish(publish_t* p, leat_bundle_index_t* index) {
  const char *index_path, *temporary, *directory;
  LEAT_RETURN_IF_ERROR(leat_bundle_index_path(p->prefix, p->arena, &index_path));
  LEAT_RETURN_IF_ERROR(leat_path_directory(p->prefix, p->arena, &directory));
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(index_path, p->arena, &temporary));
  LEAT_RETURN_IF_ERROR(choose_names(p));
  leat_status_t status = leat_bundle_index_write(index, p->fs, temporary, p->first, (int)p->count);
  if (!status) {
    status = place_shards(p, directory);
    if (status) take_shards_back(p);
  }
  // Should this rename say that it failed although it was done (a network's file system may), then
  // both indexes have their data: nothing is taken back from here on.
  if (!status) status = p->fs->vtable->rename(p->fs, temporary, index_path);
  if (status) {
    leat_status_free(p->fs->vtable->remove(p->fs, temporary));
    return status;
  }
  LEAT_RETURN_IF_ERROR(p->fs->vtable->sync_directory(p->fs, directory));
  remove_left_over(p);
  return leat_ok_status();
}

leat_status_t leat_bundle_publish(leat_file_system_t* fs, leat_bundle_index_t* index,
                                  const char* prefix, const leat_bundle_shard_t* shards,
                                  size_t count) {
  publish_t p = {.fs = fs, .arena = &index->arena, .prefix = prefix, .shards = shards,
                 .count = count};
  uint64_t key = leat_fingerprint64(leat_string_view_from(prefix));
  leat_mutex_t* lock = &locks[key % LEAT_ARRAY_SIZE(locks)];
  leat_mutex_lock(lock);
  leat_status_t status = publish(&p, index);
  leat_mutex_unlock(lock);
  return status;
}

// |path| without "//" and "."; a relative one begins with a slash then, too.
static leat_status_t clean(const char* path, leat_arena_t* arena, char** out_path) {
  size_t size = strlen(path);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, size + 2, out_path));
  **out_path = '/';
  memcpy(*out_path + 1, path, size + 1);
  leat_path_clean(*out_path);
  return leat_ok_status();
}

leat_status_t leat_bundle_same_path(const char* a, const char* b, leat_arena_t* arena,
                                    bool* out_same) {
  char *clean_a, *clean_b;
  LEAT_RETURN_IF_ERROR(clean(a, arena, &clean_a));
  LEAT_RETURN_IF_ERROR(clean(b, arena, &clean_b));
  *out_same = (*a == '/') == (*b == '/') && strcmp(clean_a, clean_b) == 0;
  return leat_ok_status();
}
