// What maps need after their entries are read.
#ifndef LEAT_FORMATS_DECODE_MAP_H_
#define LEAT_FORMATS_DECODE_MAP_H_

#include "formats/message.h"

// Keeps the last of the entries that have equal keys; the order stays. |allocator| gives scratch.
LEAT_MUST_USE leat_status_t leat_decode_drop_repeated_keys(leat_allocator_t* allocator,
                                                           const leat_message_descriptor_t* entry,
                                                           leat_pb_list_t* list);

#endif  // LEAT_FORMATS_DECODE_MAP_H_
