// Records on arbitrary bytes.
#include "formats/record/record.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_file_system_t fs;
  leat_record_file_source_t source;
  leat_record_reader_t reader;
  leat_string_view_t record;
  leat_status_t status;
  memory_file_system_initialize(data, size, &fs);
  leat_record_file_source_initialize(&fs.file.base, 0, &source);
  leat_record_reader_initialize(&source.base, 0, leat_allocator_system(), &reader);
  while (!(status = leat_record_reader_next(&reader, &record))) {
  }
  leat_status_free(status);
  leat_record_reader_deinitialize(&reader);
  return 0;
}
