// A file system in memory for paths "memory:///folder/name", as another project would write it: it
// knows tensorflow/c/experimental/filesystem/filesystem_interface.h only, so it builds against
// TensorFlow's headers as well. It is linked against nothing: the program that loads it has the
// functions.
//
// Entries are a list, each with the whole path; contents are counted, so that who reads a file goes
// on with what it opened when the file is removed or written anew. One lock is over all of it.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensorflow/c/experimental/filesystem/filesystem_interface.h"

typedef struct content_t {
  int references;
  size_t size, room;
  int64_t changed_ns;
  char* bytes;
} content_t;

typedef struct entry_t {
  struct entry_t* next;
  char* path;
  content_t* content;  // NULL: a directory
} entry_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_t* entries;  // the newest first

static int64_t now_ns(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void fail_exhausted(TF_Status* status) {
  TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the file system in memory");
}

// ---- contents -----------------------------------------------------------------------------------

static content_t* create_content(TF_Status* status) {
  content_t* content = calloc(1, sizeof *content);
  if (!content) {
    fail_exhausted(status);
    return NULL;
  }
  content->references = 1;
  content->changed_ns = now_ns();
  return content;
}

static void release(content_t* content) {
  if (!content || --content->references) return;
  free(content->bytes);
  free(content);
}

static int append(content_t* content, const char* bytes, size_t size) {
  if (size > content->room - content->size) {
    if (size > SIZE_MAX / 4 - content->size) return 0;
    size_t room = 2 * (content->size + size);
    char* grown = realloc(content->bytes, room);
    if (!grown) return 0;
    content->bytes = grown;
    content->room = room;
  }
  if (size) memcpy(content->bytes + content->size, bytes, size);
  content->size += size;
  content->changed_ns = now_ns();
  return 1;
}

// ---- entries, under the lock --------------------------------------------------------------------

static entry_t* find(const char* path, size_t size) {
  for (entry_t* e = entries; e; e = e->next) {
    if (strlen(e->path) == size && memcmp(e->path, path, size) == 0) return e;
  }
  return NULL;
}

static size_t parent_size(const char* path) {
  size_t size = (size_t)(strrchr(path, '/') - path);
  return size ? size : 1;  // of "/"
}

// Why nothing is at |path|: something that should be a directory is a file, or is not there.
static void fail_absent(const char* path, TF_Status* status) {
  TF_Code code = TF_NOT_FOUND;
  for (size_t i = strlen(path); i > 1 && code == TF_NOT_FOUND; --i) {
    const entry_t* e = path[i] == '/' ? find(path, i) : NULL;
    if (e && e->content) code = TF_FAILED_PRECONDITION;
  }
  TF_SetStatus(
      status, code,
      code == TF_NOT_FOUND ? "no such file or directory" : "a directory on the way is a file");
}

static entry_t* look(const char* path, TF_Status* status) {
  entry_t* e = find(path, strlen(path));
  if (!e) fail_absent(path, status);
  return e;
}

static entry_t* look_for_file(const char* path, TF_Status* status) {
  entry_t* e = look(path, status);
  if (!e || e->content) return e;
  TF_SetStatus(status, TF_FAILED_PRECONDITION, "it is a directory");
  return NULL;
}

static int check_parent(const char* path, TF_Status* status) {
  const entry_t* parent = find(path, parent_size(path));
  if (parent && !parent->content) return 1;
  fail_absent(path, status);
  return 0;
}

// |content| is taken over.
static entry_t* add(const char* path, content_t* content, TF_Status* status) {
  entry_t* e = calloc(1, sizeof *e);
  size_t size = strlen(path) + 1;
  if (e) e->path = malloc(size);
  if (!e || !e->path) {
    free(e);
    release(content);
    fail_exhausted(status);
    return NULL;
  }
  memcpy(e->path, path, size);
  e->content = content;
  e->next = entries;
  return entries = e;
}

static void drop(entry_t* gone) {
  entry_t** link = &entries;
  while (*link != gone) link = &(*link)->next;
  *link = gone->next;
  release(gone->content);
  free(gone->path);
  free(gone);
}

// What of |path| is below |directory|, without a slash in front; NULL when it is not.
static const char* below(const char* path, const char* directory) {
  size_t size = directory[1] ? strlen(directory) : 0;
  if (strncmp(path, directory, size) != 0 || path[size] != '/') return NULL;
  return path[size + 1] ? path + size + 1 : NULL;
}

static int is_empty(const char* directory) {
  for (const entry_t* e = entries; e; e = e->next) {
    if (below(e->path, directory)) return 0;
  }
  return 1;
}

// ---- reading ------------------------------------------------------------------------------------

static content_t* retain_file(const char* path, TF_Status* status) {
  pthread_mutex_lock(&lock);
  entry_t* e = look_for_file(path, status);
  content_t* content = e ? e->content : NULL;
  if (content) ++content->references;
  pthread_mutex_unlock(&lock);
  return content;
}

static void release_locking(content_t* content) {
  pthread_mutex_lock(&lock);
  release(content);
  pthread_mutex_unlock(&lock);
}

static void open_reader(const TF_Filesystem* fs, const char* path, TF_RandomAccessFile* file,
                        TF_Status* status) {
  file->plugin_file = retain_file(path, status);
}

static void close_reader(TF_RandomAccessFile* file) { release_locking(file->plugin_file); }

static int64_t read_at(const TF_RandomAccessFile* file, uint64_t offset, size_t n, char* buffer,
                       TF_Status* status) {
  const content_t* content = file->plugin_file;
  pthread_mutex_lock(&lock);
  size_t rest = offset < content->size ? content->size - (size_t)offset : 0;
  size_t size = n < rest ? n : rest;
  if (size) memcpy(buffer, content->bytes + offset, size);
  pthread_mutex_unlock(&lock);
  if (size < n) TF_SetStatus(status, TF_OUT_OF_RANGE, "the file ends here");
  return (int64_t)size;
}

// A region keeps a copy: bytes that others append may move the file's.
static void open_region(const TF_Filesystem* fs, const char* path, TF_ReadOnlyMemoryRegion* region,
                        TF_Status* status) {
  content_t *content = retain_file(path, status), *copy = NULL;
  if (!content) return;
  pthread_mutex_lock(&lock);
  if (!content->size) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "an empty file has no memory");
  } else if ((copy = create_content(status)) && !append(copy, content->bytes, content->size)) {
    release(copy);
    copy = NULL;
    fail_exhausted(status);
  }
  release(content);
  pthread_mutex_unlock(&lock);
  region->plugin_memory_region = copy;
}

static void close_region(TF_ReadOnlyMemoryRegion* region) {
  release_locking(region->plugin_memory_region);
}

static const void* region_data(const TF_ReadOnlyMemoryRegion* region) {
  return ((const content_t*)region->plugin_memory_region)->bytes;
}

static uint64_t region_length(const TF_ReadOnlyMemoryRegion* region) {
  return ((const content_t*)region->plugin_memory_region)->size;
}

// ---- writing ------------------------------------------------------------------------------------

// The content to append to; a fresh one when |truncates|.
static content_t* writable(const char* path, int truncates, TF_Status* status) {
  entry_t* e = find(path, strlen(path));
  if (e && !e->content) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "it is a directory");
    return NULL;
  }
  if (e && !truncates) return e->content;
  if (!e && !check_parent(path, status)) return NULL;
  content_t* fresh = create_content(status);
  if (!fresh) return NULL;
  if (!e) return add(path, fresh, status) ? fresh : NULL;
  release(e->content);
  return e->content = fresh;
}

static void open_writer(const char* path, int truncates, TF_WritableFile* file, TF_Status* status) {
  pthread_mutex_lock(&lock);
  content_t* content = writable(path, truncates, status);
  if (content) ++content->references;
  file->plugin_file = content;
  pthread_mutex_unlock(&lock);
}

static void create_file(const TF_Filesystem* fs, const char* path, TF_WritableFile* file,
                        TF_Status* status) {
  open_writer(path, 1, file, status);
}

static void open_to_append(const TF_Filesystem* fs, const char* path, TF_WritableFile* file,
                           TF_Status* status) {
  open_writer(path, 0, file, status);
}

static void append_to_file(const TF_WritableFile* file, const char* buffer, size_t n,
                           TF_Status* status) {
  pthread_mutex_lock(&lock);
  int done = append(file->plugin_file, buffer, n);
  pthread_mutex_unlock(&lock);
  if (!done) fail_exhausted(status);
}

static int64_t tell(const TF_WritableFile* file, TF_Status* status) {
  pthread_mutex_lock(&lock);
  int64_t size = (int64_t)((const content_t*)file->plugin_file)->size;
  pthread_mutex_unlock(&lock);
  return size;
}

// What was appended is in the file already.
static void close_file(const TF_WritableFile* file, TF_Status* status) {}

static void free_writer(TF_WritableFile* file) { release_locking(file->plugin_file); }

// ---- directories --------------------------------------------------------------------------------

static void create_directory(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  pthread_mutex_lock(&lock);
  if (find(path, strlen(path))) {
    TF_SetStatus(status, TF_ALREADY_EXISTS, "it is there already");
  } else if (check_parent(path, status)) {
    add(path, NULL, status);
  }
  pthread_mutex_unlock(&lock);
}

static void delete_file(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  pthread_mutex_lock(&lock);
  entry_t* e = look_for_file(path, status);
  if (e) drop(e);
  pthread_mutex_unlock(&lock);
}

static void delete_directory(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  pthread_mutex_lock(&lock);
  entry_t* e = look(path, status);
  if (e && (e->content || !is_empty(path) || !path[1])) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "it is no empty directory");
  } else if (e) {
    drop(e);
  }
  pthread_mutex_unlock(&lock);
}

// |e| and what is below it get |to| for |from|. Names that found no memory keep the old one.
static void move(const char* from, const char* to, TF_Status* status) {
  for (entry_t* e = entries; e; e = e->next) {
    const char* name = below(e->path, from);
    if (!name && strcmp(e->path, from) != 0) continue;
    size_t to_size = strlen(to), size = name ? strlen(name) + 1 : 0;
    char* path = malloc(to_size + size + 1);
    if (!path) {
      fail_exhausted(status);
      return;
    }
    memcpy(path, to, to_size + 1);
    if (name) memcpy(path + to_size, name - 1, size + 1);
    free(e->path);
    e->path = path;
  }
}

// Files replace files; nothing moves below itself.
static int may_move(const char* src, const char* dst, TF_Status* status) {
  const entry_t *from = look(src, status), *to = find(dst, strlen(dst));
  if (!from) return 0;
  if (to ? from->content && to->content : !below(dst, src)) {
    return to || check_parent(dst, status);
  }
  TF_SetStatus(status, TF_FAILED_PRECONDITION, "a directory cannot be replaced by this");
  return 0;
}

static void rename_entry(const TF_Filesystem* fs, const char* src, const char* dst,
                         TF_Status* status) {
  pthread_mutex_lock(&lock);
  if (may_move(src, dst, status) && strcmp(src, dst) != 0) {
    entry_t* replaced = find(dst, strlen(dst));
    if (replaced) drop(replaced);
    move(src, dst, status);
  }
  pthread_mutex_unlock(&lock);
}

// ---- what is there ------------------------------------------------------------------------------

static void path_exists(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  pthread_mutex_lock(&lock);
  look(path, status);
  pthread_mutex_unlock(&lock);
}

static void get_statistics(const TF_Filesystem* fs, const char* path, TF_FileStatistics* stats,
                           TF_Status* status) {
  pthread_mutex_lock(&lock);
  const entry_t* e = look(path, status);
  if (e) {
    const content_t* content = e->content;
    stats->length = content ? (int64_t)content->size : 0;
    stats->mtime_nsec = content ? content->changed_ns : 0;
    stats->is_directory = !content;
  }
  pthread_mutex_unlock(&lock);
}

// With room for |count| names, those of the entries right below |path|; how many.
static int list(const char* path, char** names, int count) {
  int found = 0;
  for (const entry_t* e = entries; e && found < count; e = e->next) {
    const char* name = below(e->path, path);
    if (!name || strchr(name, '/')) continue;
    names[found] = malloc(strlen(name) + 1);
    if (!names[found]) return -1;
    memcpy(names[found++], name, strlen(name) + 1);
  }
  return found;
}

static int get_children(const TF_Filesystem* fs, const char* path, char*** names,
                        TF_Status* status) {
  int count = 0;
  pthread_mutex_lock(&lock);
  const entry_t* directory = look(path, status);
  if (directory && directory->content) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "it is a file");
    directory = NULL;
  }
  for (const entry_t* e = entries; e; e = e->next) ++count;
  *names = directory ? calloc((size_t)count, sizeof **names) : NULL;
  int found = *names ? list(path, *names, count) : -1;
  pthread_mutex_unlock(&lock);
  if (directory && found < 0) fail_exhausted(status);
  for (int i = 0; found < 0 && *names && i < count; ++i) free((*names)[i]);
  if (found < 0) free(*names);
  return found;
}

// ---- the plugin ---------------------------------------------------------------------------------

static void initialize(TF_Filesystem* fs, TF_Status* status) {
  pthread_mutex_lock(&lock);
  if (!entries) add("/", NULL, status);
  pthread_mutex_unlock(&lock);
}

static void clean_up(TF_Filesystem* fs) {}

static void* copy(const void* table, size_t size) {
  void* memory = malloc(size);
  return memory ? memcpy(memory, table, size) : NULL;
}

void TF_InitPlugin(TF_FilesystemPluginInfo* info) {
  const TF_RandomAccessFileOps reader = {.cleanup = close_reader, .read = read_at};
  const TF_ReadOnlyMemoryRegionOps region = {
      .cleanup = close_region, .data = region_data, .length = region_length};
  const TF_WritableFileOps writer = {.cleanup = free_writer,
                                     .append = append_to_file,
                                     .tell = tell,
                                     .flush = close_file,
                                     .sync = close_file,
                                     .close = close_file};
  const TF_FilesystemOps filesystem = {.init = initialize,
                                       .cleanup = clean_up,
                                       .new_random_access_file = open_reader,
                                       .new_writable_file = create_file,
                                       .new_appendable_file = open_to_append,
                                       .new_read_only_memory_region_from_file = open_region,
                                       .create_dir = create_directory,
                                       .delete_file = delete_file,
                                       .delete_dir = delete_directory,
                                       .rename_file = rename_entry,
                                       .path_exists = path_exists,
                                       .stat = get_statistics,
                                       .get_children = get_children};
  info->plugin_memory_allocate = malloc;
  info->plugin_memory_free = free;
  info->ops = calloc(1, sizeof *info->ops);
  if (!info->ops) return;
  info->num_schemes = 1;
  TF_SetFilesystemVersionMetadata(info->ops);
  info->ops->scheme = copy("memory", sizeof "memory");
  info->ops->filesystem_ops = copy(&filesystem, sizeof filesystem);
  info->ops->random_access_file_ops = copy(&reader, sizeof reader);
  info->ops->writable_file_ops = copy(&writer, sizeof writer);
  info->ops->read_only_memory_region_ops = copy(&region, sizeof region);
}
