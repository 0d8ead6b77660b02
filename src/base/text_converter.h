// Converters of text from an encoding of the C library to characters of Unicode.
#ifndef LEAT_BASE_TEXT_CONVERTER_H_
#define LEAT_BASE_TEXT_CONVERTER_H_

#include "base/status.h"
#include "base/string_view.h"

// One thread uses a converter.
typedef struct leat_text_converter_s leat_text_converter_t;

// |encoding| is a name that the C library knows. INVALID_ARGUMENT where it knows none such.
LEAT_MUST_USE leat_status_t leat_text_converter_create(leat_string_view_t encoding,
                                                       leat_text_converter_t** out_converter);
// Accepts NULL.
void leat_text_converter_free(leat_text_converter_t* converter);
// Forgets what came before; another text begins.
void leat_text_converter_reset(leat_text_converter_t* converter);
// Reads the character at the beginning of |text|; |out_size| is how many bytes it has. false where
// the bytes are no character, then |out_size| is 1. |text| must not be empty.
bool leat_text_converter_next(leat_text_converter_t* converter, leat_string_view_t text,
                              size_t* out_size, uint32_t* out_character);

#endif  // LEAT_BASE_TEXT_CONVERTER_H_
