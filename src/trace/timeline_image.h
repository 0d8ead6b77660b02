// A timeline as bytes that are used where they lie: a file that is mapped, so that a recording of
// any length is looked at without being read again, and the system takes its pages back when it
// needs memory.
//
//   LEAT_RETURN_IF_ERROR(leat_timeline_read_spilled(files, path, &spill, &timeline));
//   LEAT_RETURN_IF_ERROR(leat_timeline_write_image(timeline, &spill, file, &written_bytes));
//   LEAT_RETURN_IF_ERROR(leat_timeline_open_image(mapped, mapped_bytes, &timeline, &used_bytes));
//
// An image is a cache of this machine and this version: its numbers are as they lie in memory. Its
// bytes may come from anybody. Everything but the slices is checked when it is opened, by a
// checksum, and each count and index against what is there; the slices, which may be gigabytes,
// when leat_timeline_verify is called. Until then lanes may hold any times, in any order, and names
// that do not exist: windows of them can be asked for (leat_lane_seek, leat_lane_next) and show
// whatever it is, while the walks of trace/delay.h rely on the rules and must not be made.
#ifndef LEAT_TRACE_TIMELINE_IMAGE_H_
#define LEAT_TRACE_TIMELINE_IMAGE_H_

#include "trace/timeline.h"

// Reads the recording at |path|. The slices take about as much memory as |spill|, which is
// initialized, allows; what is more goes to its file, and is missing in front of the lanes of
// |*out_timeline|, which is then good for being written and for nothing else. The codes are those
// of leat_timeline_read and of the writing.
LEAT_MUST_USE leat_status_t leat_timeline_read_spilled(leat_file_system_t* files, const char* path,
                                                       leat_lane_spill_t* spill,
                                                       leat_timeline_t** out_timeline);
// Writes the image of a timeline and of what was spilled of it to |out|, a file that is open for
// writing and is empty. |*out_bytes| is a multiple of 8. After an error |out| may have got a part.
LEAT_MUST_USE leat_status_t leat_timeline_write_image(const leat_timeline_t* timeline,
                                                      leat_lane_spill_t* spill, leat_file_t* out,
                                                      size_t* out_bytes);
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
