"""A language model of two small layers with random weights, as a GGUF file: tinymodel.py FILE.

The format is public (GGUF 3): a header, keys with typed values, a table of tensors, and their bytes. The model's output
has no meaning, but is the same on every device.
"""
import random
import struct
import sys

EMBEDDING, FORWARD, HEADS, LAYERS, CONTEXT = 128, 192, 2, 2, 256
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
ALIGNMENT = 32

tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
tokens += [("<0x%02X>" % i, BYTE) for i in range(256)]
tokens += [(c, NORMAL) for c in "\u2581etaoinshrdlu"]


def text(s):
    data = s.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind, form, values):
    items = b"".join(text(v) if kind == STRING else struct.pack(form, v) for v in values)
    return ARRAY, struct.pack("<IQ", kind, len(values)) + items


def number(n):
    return U32, struct.pack("<I", n)


keys = {
    "general.architecture": (STRING, text("llama")),
    "general.name": (STRING, text("tiny")),
    "general.file_type": number(0),
    "llama.context_length": number(CONTEXT),
    "llama.embedding_length": number(EMBEDDING),
    "llama.block_count": number(LAYERS),
    "llama.feed_forward_length": number(FORWARD),
    "llama.rope.dimension_count": number(EMBEDDING // HEADS),
    "llama.attention.head_count": number(HEADS),
    "llama.attention.head_count_kv": number(HEADS),
    "llama.attention.layer_norm_rms_epsilon": (F32, struct.pack("<f", 1e-5)),
    "llama.vocab_size": number(len(tokens)),
    "tokenizer.ggml.model": (STRING, text("llama")),
    "tokenizer.ggml.tokens": array(STRING, None, [t for t, _ in tokens]),
    "tokenizer.ggml.scores": array(F32, "<f", [-float(i) for i in range(len(tokens))]),
    "tokenizer.ggml.token_type": array(I32, "<i", [k for _, k in tokens]),
    "tokenizer.ggml.bos_token_id": number(1),
    "tokenizer.ggml.eos_token_id": number(2),
    "tokenizer.ggml.unknown_token_id": number(0),
}
shapes = {"token_embd": (EMBEDDING, len(tokens)), "output_norm": (EMBEDDING,), "output": (EMBEDDING, len(tokens))}
for layer in range(LAYERS):
    for name, shape in {
        "attn_norm": (EMBEDDING,),
        "attn_q": (EMBEDDING, EMBEDDING),
        "attn_k": (EMBEDDING, EMBEDDING),
        "attn_v": (EMBEDDING, EMBEDDING),
        "attn_output": (EMBEDDING, EMBEDDING),
        "ffn_norm": (EMBEDDING,),
        "ffn_gate": (EMBEDDING, FORWARD),
        "ffn_up": (EMBEDDING, FORWARD),
        "ffn_down": (FORWARD, EMBEDDING),
    }.items():
        shapes["blk.%d.%s" % (layer, name)] = shape

random.seed(1)
table, data = b"", b""
for name, shape in shapes.items():
    count = 1
    for n in shape:
        count *= n
    values = [1.0] * count if len(shape) == 1 else [random.gauss(0, 0.3) for _ in range(count)]
    table += text(name + ".weight") + struct.pack("<I", len(shape))
    table += struct.pack("<%dQ" % len(shape), *shape) + struct.pack("<IQ", 0, len(data))
    data += struct.pack("<%df" % count, *values)
    data += bytes(-len(data) % ALIGNMENT)

head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(keys))
head += b"".join(text(k) + struct.pack("<I", kind) + value for k, (kind, value) in keys.items()) + table
with open(sys.argv[1], "wb") as f:
    f.write(head + bytes(-len(head) % ALIGNMENT) + data)
