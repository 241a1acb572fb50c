// Builds a prompt over C from Node: npm install koffi; node bindings/c/examples/koffi.mjs target/release/libtapster.so
import koffi from "koffi";

const library = koffi.load(process.argv[2]);
koffi.opaque("tapster_door");
const freeText = library.func("void tapster_free_text(char *text)");
// koffi copies a response, and frees it then
koffi.disposable("Response", "char *", freeText);
const newDoor = library.func("tapster_door *tapster_new(const char *folders)");
const callDoor = library.func("Response tapster_call(tapster_door *door, const uint8_t *request, size_t length)");
const freeDoor = library.func("void tapster_free(tapster_door *door)");

const door = newDoor(null);
function call(request) {
  const bytes = Buffer.from(JSON.stringify(request));
  const { ok, result, diagnostics } = JSON.parse(callDoor(door, bytes, bytes.length));
  if (!ok) throw new Error(JSON.stringify(diagnostics));
  return result;
}

const { rules } = call({ call: "open", pack: "base" });
console.log(JSON.stringify(call({ call: "build", rules, scene: { message: "Hello." } }).payload));
freeDoor(door);
