// The order of map entries in what is written: by key, strings bytewise, numbers by value.
#ifndef LEAT_FORMATS_WIRE_MAP_ORDER_H_
#define LEAT_FORMATS_WIRE_MAP_ORDER_H_

#include "formats/wire/message.h"

// Fills |out_order| (room for list->count) with the entries' indices.
void leat_map_order(const leat_message_descriptor_t* entry, const leat_pb_list_t* list,
                    size_t* out_order);

#endif  // LEAT_FORMATS_WIRE_MAP_ORDER_H_
