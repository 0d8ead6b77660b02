// Writes the C++ wrappers of ops: make_ops FOLDER puts <family>.hpp for each family of ops into
// FOLDER/ops/, and FOLDER/ops.hpp, which includes them all. The build runs it (cmake/LeatCpp.cmake)
// with the library that it has just made, so that the wrappers are those of its registry.
//
// An op becomes a class of its name in leat::ops:
//
//   MatMul(scope, a, b, MatMul::TransposeA(true))
//
// The arguments of its constructor are the op's inputs and then the attributes that have no default
// and do not follow from the inputs, in the order of the definition; this is the order of
// TensorFlow's C++ API too. Attributes with a default are set through static functions. An op that
// TensorFlow's C++ API calls otherwise has that name as well, unless another op of the registry has
// it. A file whose text has not changed is not written again.
#include <cctype>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "families.h"
#include "leat/inspect.h"

namespace {

using View = leat_message_view_t;

std::string text_of(View view, const char* field) {
  size_t size = 0;
  const char* text = leat_message_string(view, field, 0, &size);
  return std::string(text, size);
}

std::vector<View> children(View view, const char* field) {
  std::vector<View> all;
  for (size_t i = 0; i < leat_message_count(view, field); ++i) {
    all.push_back(leat_message_child(view, field, i));
  }
  return all;
}

/// The values of an AttrValue in one line, without the names of its fields.
std::string line_of(View view, TF_Status* status) {
  TF_Buffer* buffer = leat_message_view_to_text(view, status);
  if (!buffer) return "";
  std::string text(static_cast<const char*>(buffer->data), buffer->length), line;
  TF_DeleteBuffer(buffer);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.back() != ':' && word != "list" && word != "{" && word != "}") {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return line.empty() ? "empty" : line;
}

/// The names that C++ and the generated code keep for themselves.
bool is_taken(const std::string& name) {
  static const std::set<std::string> words = {
      "and",    "auto",   "bool",  "break",  "case",     "catch",     "char",     "class",
      "const",  "default", "delete", "do",   "double",   "else",      "enum",     "explicit",
      "export", "extern", "false", "float",  "for",      "friend",    "goto",     "if",
      "inline", "int",    "long",  "mutable", "namespace", "new",     "not",      "operator",
      "or",     "private", "public", "register", "return", "short",   "signed",   "sizeof",
      "static", "struct", "switch", "template", "this",  "throw",     "true",     "try",
      "typedef", "typename", "union", "unsigned", "using", "virtual", "void",     "volatile",
      "while",  "xor",    "scope", "attrs",  "operation"};
  return words.count(name) != 0;
}

/// The name that TensorFlow's C++ API gives to an op as well, or instead; "" for most. Names that
/// another op of the registry has (Concat, Reverse, Stack, TopK) are left to that op.
std::string other_name(const std::string& op) {
  static const std::map<std::string, std::string> names = {
      {"All", "ReduceAll"},
      {"Any", "ReduceAny"},
      {"BroadcastArgs", "BroadcastDynamicShape"},
      {"ListDiff", "SetDiff1D"},
      {"Max", "ReduceMax"},
      {"Mean", "ReduceMean"},
      {"Min", "ReduceMin"},
      {"Mul", "Multiply"},
      {"Neg", "Negate"},
      {"Prod", "ReduceProd"},
      {"RandomStandardNormal", "RandomNormal"},
      {"Select", "Where3"},
      {"Sub", "Subtract"},
      {"Sum", "ReduceSum"},
      {"Unpack", "Unstack"}};
  const auto found = names.find(op);
  return found == names.end() ? "" : found->second;
}

std::string identifier(const std::string& name) { return is_taken(name) ? name + "_" : name; }

/// "transpose_a" -> "TransposeA"
std::string camel(const std::string& name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return result;
}

/// The C++ type of an attribute's parameter.
std::string attribute_type(const std::string& type) {
  static const std::map<std::string, std::string> types = {
      {"bool", "bool"},
      {"int", "std::int64_t"},
      {"float", "float"},
      {"string", "std::string_view"},
      {"type", "::leat::DataType"},
      {"shape", "const ::leat::TensorShape&"},
      {"tensor", "const ::leat::Tensor&"},
      {"func", "const ::leat::FunctionName&"},
      {"list(bool)", "const std::vector<bool>&"},
      {"list(int)", "::leat::ListOf<std::int64_t>"},
      {"list(float)", "::leat::ListOf<float>"},
      {"list(string)", "::leat::ListOf<std::string>"},
      {"list(type)", "::leat::ListOf<::leat::DataType>"},
      {"list(shape)", "::leat::ListOf<::leat::TensorShape>"},
      {"list(func)", "::leat::ListOf<::leat::FunctionName>"}};
  const auto found = types.find(type);
  return found == types.end() ? "const ::leat::AttrValue&" : found->second;
}

bool is_list(View argument) {
  return !text_of(argument, "number_attr").empty() || !text_of(argument, "type_list_attr").empty();
}

/// "N * T", "float", "list(Tin)": what the documentation says of an input or output.
std::string argument_type(View argument) {
  std::string type = text_of(argument, "type_attr");
  const std::string list = text_of(argument, "type_list_attr");
  const std::string number = text_of(argument, "number_attr");
  if (!list.empty()) return "list(" + list + ")";
  if (type.empty()) {
    for (char c : text_of(argument, "type").substr(3)) {  // DT_FLOAT
      type += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (leat_message_integer(argument, "is_ref", 0)) type = "Ref(" + type + ")";
  return number.empty() ? type : number + " * " + type;
}

/// Breaks a sentence into lines of comment.
std::string comment(const std::string& text, const std::string& indent) {
  std::string lines, line = indent + "///";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > 100) {
      lines += line + "\n";
      line = indent + "///  ";
    }
    line += " " + word;
  }
  return lines + line + "\n";
}

struct Op {
  View view;
  std::string name, about;
  std::vector<View> inputs, outputs, required, optional;
};

Op read_op(View view, const char* about) {
  Op op = {view, text_of(view, "name"), about, children(view, "input_arg"),
           children(view, "output_arg"), {}, {}};
  std::set<std::string> inferred;
  for (View input : op.inputs) {
    for (const char* field : {"type_attr", "number_attr", "type_list_attr"}) {
      inferred.insert(text_of(input, field));
    }
  }
  for (View attribute : children(view, "attr")) {
    if (inferred.count(text_of(attribute, "name"))) continue;
    const bool has_default = leat_message_count(attribute, "default_value") != 0;
    (has_default ? op.optional : op.required).push_back(attribute);
  }
  return op;
}

void write_documentation(const Op& op, std::ostream& out, TF_Status* status) {
  out << comment(op.about, "") << "///\n";
  std::string signature;
  for (View input : op.inputs) {
    signature += (signature.empty() ? "" : ", ") + text_of(input, "name") + ": " +
                 argument_type(input);
  }
  signature += signature.empty() ? "->" : " ->";
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    signature += (i ? ", " : " ") + text_of(op.outputs[i], "name") + ": " +
                 argument_type(op.outputs[i]);
  }
  out << comment(signature + (op.outputs.empty() ? " nothing" : ""), "");
  for (View attribute : children(op.view, "attr")) {
    const View allowed = leat_message_child(attribute, "allowed_values", 0);
    std::string line = text_of(attribute, "name") + ": " + text_of(attribute, "type");
    if (allowed.data) line += ", one of " + line_of(allowed, status);
    const View value = leat_message_child(attribute, "default_value", 0);
    if (value.data) line += "; by default " + line_of(value, status);
    out << comment("- " + line, "");
  }
}

void write_constructor(const Op& op, std::ostream& out) {
  out << "  LEAT_CPP_COLD explicit " << op.name << "(const ::leat::Scope& scope";
  for (View input : op.inputs) {
    out << ",\n      const ::leat::Input" << (is_list(input) ? "List" : "") << "& "
        << identifier(text_of(input, "name"));
  }
  for (View attribute : op.required) {
    out << ",\n      " << attribute_type(text_of(attribute, "type")) << " "
        << identifier(text_of(attribute, "name"));
  }
  if (!op.optional.empty()) out << ",\n      const Attrs& attrs = Attrs()";
  out << ")\n      : operation(::leat::OpBuilder(scope, \"" << op.name << "\")";
  for (View input : op.inputs) {
    out << "\n            .input(" << identifier(text_of(input, "name")) << ")";
  }
  for (View attribute : op.required) {
    const std::string name = text_of(attribute, "name");
    out << "\n            .attribute(\"" << name << "\", " << identifier(name) << ")";
  }
  if (!op.optional.empty()) out << "\n            .attributes(attrs)";
  out << "\n            .finish())";
  std::string place = "0";  // of the first output behind those that were written
  for (View output : op.outputs) {
    const std::string name = text_of(output, "name"), member = identifier(name);
    if (is_list(output)) {
      out << ",\n        " << member << "(operation.outputs(\"" << name << "\", "
          << place << "))";
      place += " + static_cast<int>(" + member + ".size())";
    } else {
      out << ",\n        " << member << "(operation.output(" << place << "))";
      place += " + 1";
    }
  }
  out << " {}\n";
}

void write_op(const Op& op, std::ostream& out, TF_Status* status) {
  write_documentation(op, out, status);
  out << "struct [[maybe_unused]] " << op.name << " {\n";  // it may be known by its name alone
  if (!op.optional.empty()) {
    out << "  struct Attrs : detail::Attributes {\n";
    for (View attribute : op.optional) {
      const std::string name = text_of(attribute, "name");
      out << "    Attrs " << camel(name) << "(" << attribute_type(text_of(attribute, "type"))
          << " x) const { return {with(\"" << name << "\", x)}; }\n";
    }
    out << "  };\n";
    for (View attribute : op.optional) {
      const std::string name = camel(text_of(attribute, "name"));
      if (name == op.name) continue;
      out << "  static Attrs " << name << "(" << attribute_type(text_of(attribute, "type"))
          << " x) { return Attrs()." << name << "(x); }\n";
    }
  }
  write_constructor(op, out);
  out << "  operator ::leat::Operation() const { return operation; }\n";
  if (op.outputs.size() == 1) {
    const std::string name = identifier(text_of(op.outputs[0], "name"));
    if (is_list(op.outputs[0])) {
      out << "  ::leat::Output operator[](std::size_t i) const { return " << name << "[i]; }\n";
    } else {
      out << "  operator ::leat::Output() const { return " << name << "; }\n";
    }
  }
  out << "  ::leat::Operation operation;\n";
  for (View output : op.outputs) {
    out << (is_list(output) ? "  std::vector<::leat::Output> " : "  ::leat::Output ")
        << identifier(text_of(output, "name")) << ";\n";
  }
  out << "};\n";
  const std::string other = other_name(op.name);
  if (!other.empty()) out << "using " << other << " = " << op.name << ";\n";
  out << "\n";
}

/// The text of a header that holds |body| in leat::ops.
std::string header(const std::string& guard, const std::string& about, const std::string& body) {
  return "// Made by cpp/make_ops.cc from the library's registry of ops. " + about + "\n#ifndef " +
         guard + "\n#define " + guard +
         "\n\n#include \"leat/cpp/graph.hpp\"\n\nLEAT_CPP_BEGIN_NAMESPACE\nnamespace ops {\n\n" +
         body + "}  // namespace ops\nLEAT_CPP_END_NAMESPACE\n\n#endif  // " + guard + "\n";
}

bool write_file(const std::string& path, const std::string& text) {
  std::ifstream old(path, std::ios::binary);
  const std::string before((std::istreambuf_iterator<char>(old)), std::istreambuf_iterator<char>());
  if (old && before == text) return true;
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_ops FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  TF_Status* status = TF_NewStatus();
  TF_Buffer* list = TF_GetAllOpList();
  leat_message_t* message = leat_message_open("OpList", list, status);
  std::map<std::string, std::ostringstream> families;
  for (View view : children(leat_message_view(message), "op")) {
    const std::string name = text_of(view, "name");
    const cpp_op_place_t place = cpp_op_place(name.c_str());
    if (!place.family || name[0] == '_' || name == "Const") continue;
    write_op(read_op(view, place.about), families[place.family], status);
  }
  bool written = message != nullptr;
  std::string includes;
  for (auto& family : families) {
    std::string guard = "LEAT_OPS_" + family.first + "_HPP_";
    for (char& c : guard) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    written = write_file(folder + "/ops/" + family.first + ".hpp",
                         header(guard, "The family " + family.first + ".", family.second.str())) &&
              written;
    includes += "#include \"leat/ops/" + family.first + ".hpp\"\n";
  }
  written = written && write_file(folder + "/ops.hpp",
                                  "// Made by cpp/make_ops.cc: the wrappers of all ops.\n"
                                  "#ifndef LEAT_OPS_HPP_\n#define LEAT_OPS_HPP_\n\n" +
                                      includes + "\n#endif  // LEAT_OPS_HPP_\n");
  if (!written) {
    std::cerr << "make_ops: writing to " << folder << " failed: " << TF_Message(status) << "\n";
  }
  leat_message_close(message);
  TF_DeleteBuffer(list);
  TF_DeleteStatus(status);
  return written ? 0 : 1;
}
