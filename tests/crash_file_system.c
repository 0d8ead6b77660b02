// Names are full paths in two tables: what a process sees, and what the disk has. Each change of
// a name goes to the first table at once, and to a journal; syncing a directory plays the journal's
// changes of that directory into the second table. A crash plays those of the rest that survive.
// A rename counts as a change of the directory that it leads to. Tests are single-threaded as far
// as files go, but a kernel runs on a thread of the pool, one after the other; there are no locks.
#include "crash_file_system.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/test.h"

enum { MAX_ENTRIES = 64, MAX_CHANGES = 1024, MAX_PATH = 256, MAX_INODES = 4096 };

typedef struct content_s {
  char* data;
  size_t size;
} content_t;

typedef struct inode_s {
  bool is_directory;
  content_t written, synced;
} inode_t;

typedef struct table_s {
  char paths[MAX_ENTRIES][MAX_PATH];
  inode_t* inodes[MAX_ENTRIES];
  int count;
} table_t;

// |inode| comes to |to|; |from| goes. Either may be empty.
typedef struct change_s {
  char from[MAX_PATH], to[MAX_PATH];
  inode_t* inode;
} change_t;

typedef struct open_file_s {
  leat_file_t base;
  leat_allocator_t* allocator;
  inode_t* inode;
  char path[MAX_PATH];
} open_file_t;

static table_t seen, stored;
static change_t journal[MAX_CHANGES];
static int journal_count;
static inode_t* inodes[MAX_INODES];
static int inode_count;
static int64_t calls_left;
static bool dead;

static leat_status_t count_call(void) {
  if (calls_left > 0 && --calls_left == 0) dead = true;
  return dead ? leat_make_status(LEAT_UNAVAILABLE, "the process is dead") : leat_ok_status();
}

// ---- Tables -------------------------------------------------------------------------------------

static int find(const table_t* table, const char* path) {
  for (int i = 0; i < table->count; ++i) {
    if (!strcmp(table->paths[i], path)) return i;
  }
  return -1;
}

static void erase(table_t* table, const char* path) {
  int i = find(table, path);
  if (i < 0) return;
  --table->count;
  memmove(table->paths[i], table->paths[table->count], MAX_PATH);
  table->inodes[i] = table->inodes[table->count];
}

static void put(table_t* table, const char* path, inode_t* inode) {
  int i = find(table, path);
  if (i < 0) i = table->count++;
  assert_true(i < MAX_ENTRIES && strlen(path) < MAX_PATH);
  strcpy(table->paths[i], path);
  table->inodes[i] = inode;
}

static void play(table_t* table, const change_t* change) {
  // A rename whose source never reached the disk brings its file along: the inode is what counts.
  if (*change->from) erase(table, change->from);
  if (*change->to) put(table, change->to, change->inode);
}

static void apply(const char* from, const char* to, inode_t* inode) {
  assert_true(journal_count < MAX_CHANGES);
  change_t* change = &journal[journal_count++];
  strcpy(change->from, from);
  strcpy(change->to, to);
  change->inode = inode;
  play(&seen, change);
}

static bool lies_in(const char* path, const char* directory) {
  const char* slash = strrchr(path, '/');
  size_t size = strlen(directory);
  while (size > 0 && directory[size - 1] == '/') --size;
  return slash && (size_t)(slash - path) == size && !strncmp(path, directory, size);
}

static void set_content(content_t* content, const char* data, size_t size) {
  char* copy = malloc(size + 1);
  if (size) memcpy(copy, data, size);
  free(content->data);
  *content = (content_t){copy, size};
}

static inode_t* make_inode(bool is_directory) {
  assert_true(inode_count < MAX_INODES);
  inode_t* inode = calloc(1, sizeof *inode);
  inode->is_directory = is_directory;
  inodes[inode_count++] = inode;
  return inode;
}

// ---- Files --------------------------------------------------------------------------------------

static leat_status_t file_read(leat_file_t* base, uint64_t offset, void* data, size_t size,
                               size_t* out_read) {
  const content_t* content = &((open_file_t*)base)->inode->written;
  *out_read = 0;
  LEAT_RETURN_IF_ERROR(count_call());
  if (offset >= content->size) return leat_ok_status();
  *out_read = size < content->size - offset ? size : (size_t)(content->size - offset);
  memcpy(data, content->data + offset, *out_read);
  return leat_ok_status();
}

static leat_status_t file_write(leat_file_t* base, const void* data, size_t size) {
  content_t* content = &((open_file_t*)base)->inode->written;
  bool was_dead = dead;
  leat_status_t status = count_call();
  if (was_dead) return status;
  if (status) size /= 2;  // death comes in the middle of a write
  char* grown = realloc(content->data, content->size + size + 1);
  if (size) memcpy(grown + content->size, data, size);
  *content = (content_t){grown, content->size + size};
  return status;
}

static leat_status_t file_sync(leat_file_t* base) {
  inode_t* inode = ((open_file_t*)base)->inode;
  LEAT_RETURN_IF_ERROR(count_call());
  set_content(&inode->synced, inode->written.data, inode->written.size);
  return leat_ok_status();
}

static leat_status_t file_size(leat_file_t* base, uint64_t* out_size) {
  *out_size = ((open_file_t*)base)->inode->written.size;
  return count_call();
}

static leat_status_t file_close(leat_file_t* base) {
  open_file_t* file = (open_file_t*)base;
  leat_allocator_free(file->allocator, file);
  return count_call();
}

static leat_status_t file_truncate(leat_file_t* base, uint64_t size) {
  content_t* content = &((open_file_t*)base)->inode->written;
  LEAT_RETURN_IF_ERROR(count_call());
  if (size < content->size) content->size = (size_t)size;
  return leat_ok_status();
}

static const leat_file_vtable_t file_vtable = {file_read, file_write, file_sync,    file_size,
                                               file_close, NULL,      file_truncate};

// ---- The file system ----------------------------------------------------------------------------

static leat_status_t none(const char* path) {
  return leat_make_status(LEAT_NOT_FOUND, "'%s' is not there", path);
}

static leat_status_t open_path(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                               leat_allocator_t* allocator, leat_file_t** out_file) {
  void* memory;
  LEAT_RETURN_IF_ERROR(count_call());
  int i = find(&seen, path);
  if (i < 0 && mode == LEAT_FILE_READ) return none(path);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(open_file_t), &memory));
  open_file_t* file = memory;
  if (i < 0) apply("", path, make_inode(false));
  file->inode = seen.inodes[find(&seen, path)];
  file->allocator = allocator;
  strcpy(file->path, path);
  file->base = (leat_file_t){&file_vtable, file->path};
  if (mode == LEAT_FILE_WRITE) set_content(&file->inode->written, "", 0);
  *out_file = &file->base;
  return leat_ok_status();
}

static leat_status_t stat_path(leat_file_system_t* self, const char* path,
                               leat_file_stat_t* out_stat) {
  LEAT_RETURN_IF_ERROR(count_call());
  int i = find(&seen, path);
  if (i < 0) return none(path);
  *out_stat = (leat_file_stat_t){.size_bytes = (int64_t)seen.inodes[i]->written.size,
                                 .is_directory = seen.inodes[i]->is_directory};
  return leat_ok_status();
}

static leat_status_t rename_path(leat_file_system_t* self, const char* from, const char* to) {
  LEAT_RETURN_IF_ERROR(count_call());
  int i = find(&seen, from);
  if (i < 0) return none(from);
  apply(from, to, seen.inodes[i]);
  return leat_ok_status();
}

static leat_status_t remove_path(leat_file_system_t* self, const char* path) {
  LEAT_RETURN_IF_ERROR(count_call());
  int i = find(&seen, path);
  if (i < 0) return none(path);
  for (int k = 0; seen.inodes[i]->is_directory && k < seen.count; ++k) {
    if (!lies_in(seen.paths[k], path)) continue;
    return leat_make_status(LEAT_FAILED_PRECONDITION, "'%s' is not empty", path);
  }
  apply(path, "", NULL);
  return leat_ok_status();
}

static leat_status_t make_directory(leat_file_system_t* self, const char* path) {
  LEAT_RETURN_IF_ERROR(count_call());
  if (find(&seen, path) >= 0) return leat_make_status(LEAT_ALREADY_EXISTS, "'%s' is there", path);
  apply("", path, make_inode(true));
  return leat_ok_status();
}

static leat_status_t list(leat_file_system_t* self, const char* path, leat_file_name_fn_t fn,
                          void* data) {
  LEAT_RETURN_IF_ERROR(count_call());
  for (int i = 0; i < seen.count; ++i) {
    if (lies_in(seen.paths[i], path)) {
      LEAT_RETURN_IF_ERROR(fn(data, strrchr(seen.paths[i], '/') + 1));
    }
  }
  return leat_ok_status();
}

static leat_status_t sync_directory(leat_file_system_t* self, const char* path) {
  LEAT_RETURN_IF_ERROR(count_call());
  int kept = 0;
  for (int i = 0; i < journal_count; ++i) {
    const change_t* change = &journal[i];
    if (lies_in(*change->to ? change->to : change->from, path)) {
      play(&stored, change);
    } else {
      journal[kept++] = *change;
    }
  }
  journal_count = kept;
  return leat_ok_status();
}

// ---- The test's side ----------------------------------------------------------------------------

void crash_file_system_free(void) {
  for (int i = 0; i < inode_count; ++i) {
    free(inodes[i]->written.data);
    free(inodes[i]->synced.data);
    free(inodes[i]);
  }
  inode_count = journal_count = seen.count = stored.count = 0;
}

void crash_file_system_reset(void) {
  static const leat_file_system_vtable_t vtable = {
      open_path, stat_path, rename_path, remove_path, make_directory, list, sync_directory, NULL,
      NULL};
  static leat_file_system_t file_system = {&vtable};
  static bool is_registered;
  if (!is_registered) LEAT_EXPECT_OK(leat_file_system_register("crash", &file_system));
  is_registered = true;
  crash_file_system_free();
  calls_left = 0;
  dead = false;
}

void crash_file_system_die_at(int64_t nth) { calls_left = nth; }

bool crash_file_system_is_dead(void) { return dead; }

static bool has_parent(const table_t* table, const char* path) {
  for (int i = 0; i < table->count; ++i) {
    if (table->inodes[i]->is_directory && lies_in(path, table->paths[i])) return true;
  }
  return lies_in(path, "crash://disk");
}

void crash_file_system_crash(crash_kind_t kind, uint64_t seed) {
  leat_philox_t random = leat_philox_make(seed, 0);
  calls_left = 0;
  dead = false;
  if (kind == CRASH_KILL) return;
  for (int i = 0; i < journal_count; ++i) {
    uint32_t words[4];
    leat_philox_next(&random, words);
    bool survives = kind == CRASH_LOSE_BYTES || (kind == CRASH_LOSE_SOME && words[0] % 2);
    if (survives) play(&stored, &journal[i]);
  }
  journal_count = 0;
  for (int i = 0; i < stored.count;) {
    if (has_parent(&stored, stored.paths[i])) {
      ++i;
    } else {
      erase(&stored, stored.paths[i]);
      i = 0;  // what lay in a directory that is lost is lost with it
    }
  }
  seen = stored;
  for (int i = 0; i < inode_count; ++i) {
    set_content(&inodes[i]->written, inodes[i]->synced.data, inodes[i]->synced.size);
  }
}

int crash_file_system_count(void) {
  int count = 0;
  for (int i = 0; i < seen.count; ++i) count += !seen.inodes[i]->is_directory;
  return count;
}
