// Text converters by iconv, which every C library of POSIX has; which encodings there are depends
// on the system.
#include "base/text_converter.h"

#include <iconv.h>
#include <string.h>

#include "base/allocator.h"

enum { LONGEST_NAME = 63, LONGEST_CHARACTER = 8 };

struct leat_text_converter_s {
  iconv_t handle;
};

leat_status_t leat_text_converter_create(leat_string_view_t encoding,
                                         leat_text_converter_t** out_converter) {
  char name[LONGEST_NAME + 1] = {0};
  iconv_t handle = (iconv_t)-1;
  *out_converter = NULL;
  // A slash would begin iconv's own options, as //IGNORE.
  if (encoding.size > 0 && encoding.size <= LONGEST_NAME &&
      !memchr(encoding.data, 0, encoding.size) && !memchr(encoding.data, '/', encoding.size)) {
    memcpy(name, encoding.data, encoding.size);
    handle = iconv_open("UTF-32BE", name);
  }
  if (handle == (iconv_t)-1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "encoding '%.*s' is not known",
                            LEAT_SV_ARG(encoding));
  }
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(), sizeof **out_converter,
                                                 (void**)out_converter);
  if (status) {
    iconv_close(handle);
    return status;
  }
  (*out_converter)->handle = handle;
  return leat_ok_status();
}

void leat_text_converter_free(leat_text_converter_t* converter) {
  if (!converter) return;
  iconv_close(converter->handle);
  leat_allocator_free(leat_allocator_system(), converter);
}

void leat_text_converter_reset(leat_text_converter_t* converter) {
  iconv(converter->handle, NULL, NULL, NULL, NULL);
}

// The converter is given one byte more until it gives a character.
bool leat_text_converter_next(leat_text_converter_t* converter, leat_string_view_t text,
                              size_t* out_size, uint32_t* out_character) {
  for (size_t size = 1; size <= LONGEST_CHARACTER && size <= text.size; ++size) {
    unsigned char made[4];
    char *from = (char*)text.data, *to = (char*)made;  // iconv does not write what it reads
    size_t left = size, room = sizeof made;
    iconv(converter->handle, &from, &left, &to, &room);
    if (room > 0) continue;
    *out_size = size - left;
    *out_character = (uint32_t)made[0] << 24 | (uint32_t)made[1] << 16 | (uint32_t)made[2] << 8 |
                     made[3];
    return true;
  }
  *out_size = 1;
  leat_text_converter_reset(converter);
  return false;
}
