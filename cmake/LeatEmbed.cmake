# Makes a C source of files: cmake -DOUT=x.c "-DFILES=a;b" -P LeatEmbed.cmake. The source defines
# board_assets (board/asset.h), each file as it is and compressed by gzip. It is run by the build,
# when a file has changed.
set(text "// Made by cmake/LeatEmbed.cmake.\n#include \"board/asset.h\"\n\n")
set(rows "")
set(index 0)

# Appends the bytes of |file| to |text|, as an array |symbol|.
macro(embed file symbol)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND text "static const unsigned char ${symbol}[] = {\n${hex}0};\n")
endmacro()

foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(ARCHIVE_CREATE OUTPUT ${OUT}.gz PATHS ${file} FORMAT raw COMPRESSION GZip
       COMPRESSION_LEVEL 9 MTIME "1970-01-01 00:00:00 UTC")
  embed(${file} kFile${index})
  embed(${OUT}.gz kGzip${index})
  file(REMOVE ${OUT}.gz)
  string(APPEND rows "  {\"${name}\", kFile${index}, sizeof kFile${index} - 1, ")
  string(APPEND rows "kGzip${index}, sizeof kGzip${index} - 1},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND rows "  {NULL, NULL, 0, NULL, 0},\n")
string(APPEND text "\nconst board_asset_t board_assets[] = {\n${rows}};\n")
file(WRITE ${OUT} "${text}")
