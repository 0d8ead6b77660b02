// Reads recorded values. An .npz file is a zip archive, which is read whole; its directory lies at
// the end, and says of each member where it begins, how large it is, and whether it is stored
// (numpy.savez) or deflated (numpy.savez_compressed). Each member is an .npy file. Archives of more
// than 4 GiB, which have another directory, are refused.
//
//   "PK\3\4" member ... "PK\1\2" entry of the directory ... "PK\5\6" end: where the directory is
#include "recording.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "file.h"
#include "npy.h"

#define MAX_PATH 4096
#define END_SIZE 22    // of the end record without its comment
#define ENTRY_SIZE 46  // of an entry without its texts
#define LOCAL_SIZE 30  // of a member's own header without its texts
// Deflate makes of a byte at most this many.
#define MOST_INFLATION 1100

struct recording_s {
  char* path;
  TF_Buffer* archive;       // NULL for a folder
  const unsigned char* directory;
  size_t directory_size;
};

typedef struct member_s {
  const unsigned char* data;
  size_t packed_size, size;
  uint32_t crc;
  bool is_deflated;
} member_t;

static uint32_t number_at(const unsigned char* at, int bytes) {
  uint32_t number = 0;
  for (int i = bytes; i-- > 0;) number = number << 8 | at[i];
  return number;
}

static void set_wrong(const char* path, const char* what, TF_Status* status) {
  char message[MAX_PATH + 256];
  snprintf(message, sizeof message, "%s: %s", path, what);
  TF_SetStatus(status, TF_INVALID_ARGUMENT, message);
}

bool recording_is(const char* path) {
  struct stat about;
  size_t size = strlen(path);
  char model[MAX_PATH];
  if (size > 4 && !strcmp(path + size - 4, ".npz")) return true;
  if (stat(path, &about) || !S_ISDIR(about.st_mode)) return false;
  for (int i = 0; i < 2; ++i) {  // the folder of a SavedModel is none
    snprintf(model, sizeof model, "%s/saved_model.pb%s", path, i ? "txt" : "");
    if (!stat(model, &about)) return false;
  }
  return true;
}

// ---- The archive --------------------------------------------------------------------------------

// Finds the directory by the record at the archive's end, behind which there may be a comment.
static bool find_directory(recording_t* r) {
  const unsigned char* bytes = r->archive->data;
  size_t size = r->archive->length;
  for (size_t back = END_SIZE; back <= size && back <= END_SIZE + 0xffff; ++back) {
    const unsigned char* end = bytes + size - back;
    if (memcmp(end, "PK\5\6", 4)) continue;
    size_t length = number_at(end + 12, 4), offset = number_at(end + 16, 4);
    if (offset > size || length > size - offset) return false;
    r->directory = bytes + offset;
    r->directory_size = length;
    return true;
  }
  return false;
}

// Where the data of the member that |entry| tells of lie. False where they are not in the archive.
static bool locate(const recording_t* r, const unsigned char* entry, member_t* member) {
  const unsigned char* bytes = r->archive->data;
  size_t size = r->archive->length, offset = number_at(entry + 42, 4);
  uint32_t method = number_at(entry + 10, 2);
  *member = (member_t){.crc = number_at(entry + 16, 4), .packed_size = number_at(entry + 20, 4),
                       .size = number_at(entry + 24, 4), .is_deflated = method == 8};
  if ((method && method != 8) || offset > size || size - offset < LOCAL_SIZE) return false;
  const unsigned char* local = bytes + offset;
  size_t texts = (size_t)number_at(local + 26, 2) + number_at(local + 28, 2);
  if (memcmp(local, "PK\3\4", 4) || size - offset - LOCAL_SIZE < texts) return false;
  member->data = local + LOCAL_SIZE + texts;
  size_t room = size - offset - LOCAL_SIZE - texts;
  return member->packed_size <= room &&
         (member->is_deflated ? member->size / MOST_INFLATION <= member->packed_size
                              : member->size == member->packed_size);
}

// Finds the member <tensor>.npy. Returns false where there is none, with |status| set where the
// archive is damaged.
static bool find_member(const recording_t* r, const char* tensor, member_t* member,
                        TF_Status* status) {
  size_t name_size = strlen(tensor), rest = r->directory_size;
  for (const unsigned char* at = r->directory; rest >= ENTRY_SIZE && !memcmp(at, "PK\1\2", 4);) {
    size_t length = number_at(at + 28, 2);
    size_t whole = ENTRY_SIZE + length + number_at(at + 30, 2) + number_at(at + 32, 2);
    if (whole > rest) break;
    const char* name = (const char*)at + ENTRY_SIZE;
    if (length == name_size + 4 && !memcmp(name, tensor, name_size) &&
        !memcmp(name + name_size, ".npy", 4)) {
      if (locate(r, at, member)) return true;
      set_wrong(r->path, "the archive is damaged, or larger than 4 GiB", status);
      return false;
    }
    at += whole;
    rest -= whole;
  }
  return false;
}

static bool inflate_member(const member_t* member, unsigned char* out) {
  z_stream stream = {.next_in = (unsigned char*)member->data,
                     .avail_in = (uInt)member->packed_size, .next_out = out,
                     .avail_out = (uInt)member->size};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  int end = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return end == Z_STREAM_END && stream.total_out == member->size;
}

static TF_Tensor* read_member(const recording_t* r, const char* tensor, TF_Status* status) {
  member_t member;
  if (!find_member(r, tensor, &member, status)) return NULL;
  unsigned char* inflated = member.is_deflated ? malloc(member.size + 1) : NULL;
  const unsigned char* data = member.is_deflated ? inflated : member.data;
  TF_Tensor* value = NULL;
  if (!data || (inflated && !inflate_member(&member, inflated)) ||
      crc32(0, data, (uInt)member.size) != member.crc) {
    set_wrong(r->path, "a member of the archive is damaged", status);
  } else {
    value = npy_parse(tensor, data, member.size, status);
  }
  free(inflated);
  return value;
}

// ---- Folders ------------------------------------------------------------------------------------

// The path of a tensor's file. Names of nodes may hold dots, but none leads out of the folder.
static bool file_of(const char* folder, const char* tensor, char path[MAX_PATH]) {
  int size = snprintf(path, MAX_PATH, "%s/%s.npy", folder, tensor);
  return size < MAX_PATH && !strstr(tensor, "..");
}

// ---- Recordings ---------------------------------------------------------------------------------

recording_t* recording_open(const char* path, TF_Status* status) {
  struct stat about;
  recording_t* r = calloc(1, sizeof *r);
  if (r) r->path = strdup(path);
  if (!r || !r->path) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a recording");
  } else if (stat(path, &about) || !S_ISDIR(about.st_mode)) {
    r->archive = file_read(path, status);
    if (r->archive && !find_directory(r)) set_wrong(path, "this is no .npz file", status);
  }
  if (TF_GetCode(status) == TF_OK) return r;
  recording_close(r);
  return NULL;
}

void recording_close(recording_t* r) {
  if (!r) return;
  TF_DeleteBuffer(r->archive);
  free(r->path);
  free(r);
}

TF_Tensor* recording_read(const recording_t* r, const char* tensor, TF_Status* status) {
  char path[MAX_PATH];
  struct stat about;
  if (r->archive) return read_member(r, tensor, status);
  return file_of(r->path, tensor, path) && !stat(path, &about) ? npy_read(path, status) : NULL;
}

void recording_write(const char* folder, const char* tensor, const TF_Tensor* value,
                     TF_Status* status) {
  char path[MAX_PATH];
  if (!file_of(folder, tensor, path)) {
    set_wrong(tensor, "this name cannot be that of a file", status);
    return;
  }
  for (char* slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    if (mkdir(path, 0777) && errno != EEXIST) {
      file_failed(path, status);
      return;
    }
  }
  npy_write(path, value, status);
}
