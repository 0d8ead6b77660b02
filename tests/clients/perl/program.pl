# What bindings of Perl do with TensorFlow's C API through FFI::Platypus: a tensor over Perl's own
# bytes with a deallocator written in Perl, a graph, a session, strings, and errors as statuses.
use strict;
use warnings;
use FFI::Platypus 2.00;
use FFI::Platypus::Buffer qw(scalar_to_buffer buffer_to_scalar);
use FFI::Platypus::Memory qw(malloc free);

my ($library) = @ARGV;
my $ffi = FFI::Platypus->new(api => 2, lib => $library);
{
  package Output;  # TF_Output
  use FFI::Platypus::Record;
  record_layout_1($ffi, opaque => 'operation', int => 'index');
}
$ffi->type('record(Output)' => 'output');
$ffi->type('(opaque,size_t,opaque)->void' => 'deallocator');
$ffi->attach(@$_) for (
  [TF_Version => [] => 'string'],
  [TF_NewStatus => [] => 'opaque'],
  [TF_GetCode => ['opaque'] => 'int'],
  [TF_Message => ['opaque'] => 'string'],
  [TF_DeleteStatus => ['opaque'] => 'void'],
  [TF_NewGraph => [] => 'opaque'],
  [TF_DeleteGraph => ['opaque'] => 'void'],
  [TF_NewOperation => ['opaque', 'string', 'string'] => 'opaque'],
  [TF_SetAttrType => ['opaque', 'string', 'int'] => 'void'],
  [TF_AddInput => ['opaque', 'output'] => 'void'],
  [TF_FinishOperation => ['opaque', 'opaque'] => 'opaque'],
  [TF_NewTensor => ['int', 'sint64[]', 'int', 'opaque', 'size_t', 'deallocator', 'opaque'] => 'opaque'],
  [TF_TensorData => ['opaque'] => 'opaque'],
  [TF_TensorByteSize => ['opaque'] => 'size_t'],
  [TF_DeleteTensor => ['opaque'] => 'void'],
  [TF_NewSessionOptions => [] => 'opaque'],
  [TF_DeleteSessionOptions => ['opaque'] => 'void'],
  [TF_NewSession => ['opaque', 'opaque', 'opaque'] => 'opaque'],
  [TF_SessionRun => ['opaque', 'opaque', 'opaque', 'opaque[]', 'int', 'opaque', 'opaque[]', 'int',
                     'opaque', 'int', 'opaque', 'opaque'] => 'void'],
  [TF_CloseSession => ['opaque', 'opaque'] => 'void'],
  [TF_DeleteSession => ['opaque', 'opaque'] => 'void'],
);
use constant {FLOAT => 1, INVALID_ARGUMENT => 3};

my $status = TF_NewStatus();
sub ok { die TF_Message($status) if TF_GetCode($status) }

TF_Version() =~ /^2\./ or die 'a strange version';
my $graph = TF_NewGraph();
my $description = TF_NewOperation($graph, 'Placeholder', 'x');
TF_SetAttrType($description, 'dtype', FLOAT);
my $x = TF_FinishOperation($description, $status);
ok;
my $feed = Output->new(operation => $x, index => 0);
$description = TF_NewOperation($graph, 'Mul', 'square');
TF_AddInput($description, $feed) for 1 .. 2;
my $square = TF_FinishOperation($description, $status);
ok;
$description = TF_NewOperation($graph, 'Mul', 'lonely');
TF_AddInput($description, $feed);
TF_FinishOperation($description, $status);
TF_GetCode($status) == INVALID_ARGUMENT or die 'a Mul of one input was taken';

my $freed = 0;
my $deallocator = $ffi->closure(sub { free($_[0]); ++$freed });
my ($bytes, $size) = scalar_to_buffer(my $packed = pack 'f<4', 1, 2, 3, -4);
my $memory = malloc($size);
FFI::Platypus::Memory::memcpy($memory, $bytes, $size);
my $tensor = TF_NewTensor(FLOAT, [4], 1, $memory, $size, $deallocator, undef);

my $options = TF_NewSessionOptions();
my $session = TF_NewSession($graph, $options, $status);
ok;
TF_DeleteSessionOptions($options);
my $fetch = Output->new(operation => $square, index => 0);
my @results = (undef);
my @feeds = ($tensor);
TF_SessionRun($session, undef, $ffi->cast('record(Output)*', 'opaque', $feed), \@feeds, 1,
              $ffi->cast('record(Output)*', 'opaque', $fetch), \@results, 1, undef, 0, undef,
              $status);
ok;
my @values = unpack 'f<4', buffer_to_scalar(TF_TensorData($results[0]),
                                            TF_TensorByteSize($results[0]));
"@values" eq '1 4 9 16' or die "@values";
TF_DeleteTensor($_) for $results[0], $tensor;
TF_CloseSession($session, $status);
ok;
TF_DeleteSession($session, $status);
ok;
$freed == 1 or die "the tensor's bytes were freed $freed times";
TF_DeleteGraph($graph);
TF_DeleteStatus($status);
