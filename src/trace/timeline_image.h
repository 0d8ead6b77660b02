// A timeline as bytes that are used where they lie: a file that is mapped, so that a recording of
// any length is looked at without being read again, and the system takes its pages back when it
// needs memory.
//
//   LEAT_RETURN_IF_ERROR(leat_timeline_convert(files, path, spill_path, limit_bytes, file));
//   LEAT_RETURN_IF_ERROR(leat_timeline_open_image(mapped, mapped_bytes, &timeline, &used_bytes));
//
// An image is a cache of this machine and this version: its numbers are as they lie in memory. Its
// bytes may come from anybody. Everything but the slices is checked when it is opened, by a
// checksum, and each count and index against what is there; the slices, which may be gigabytes,
// when leat_timeline_verify is called. Until then lanes may hold any times, in any order, and names
// that do not exist: windows of them can be asked for (leat_lane_find, leat_lane_next) and show
// whatever it is, while the walks of trace/delay.h rely on the rules and must not be made.
#ifndef LEAT_TRACE_TIMELINE_IMAGE_H_
#define LEAT_TRACE_TIMELINE_IMAGE_H_

#include "trace/timeline.h"

// Reads the recording at |path| and writes its image to |out|, a file that is open for writing and
// is empty. The slices take about |limit_bytes| of memory, and what is more goes to a file at
// |spill_path|, which is created when it is needed and is gone afterwards. The codes are those of
// leat_timeline_read and of the writing; after an error |out| may have got a part.
LEAT_MUST_USE leat_status_t leat_timeline_convert(leat_file_system_t* files, const char* path,
                                                  const char* spill_path, size_t limit_bytes,
                                                  leat_file_t* out);
// The timeline whose image begins at |bytes|, which is aligned to 8 and must outlive it, and of
// how many of the |size| bytes the image has, a multiple of 8. INVALID_ARGUMENT where they are none
// of this version, or damaged.
LEAT_MUST_USE leat_status_t leat_timeline_open_image(const void* bytes, size_t size,
                                                     leat_timeline_t** out_timeline,
                                                     size_t* out_used_bytes);
// The bytes of all lanes.
size_t leat_timeline_lane_bytes(const leat_timeline_t* timeline);
// Reads all slices of a timeline of an image: whether their checksum is that of when they were
// written, and they keep the rules that those of a recording do. A second for some gigabytes
// that are in memory, and as long as the disk takes for others.
bool leat_timeline_verify(const leat_timeline_t* timeline);

#endif  // LEAT_TRACE_TIMELINE_IMAGE_H_
