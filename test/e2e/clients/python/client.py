"""A program on gRPC's C core, through its Python binding.

For each line on its standard input, a question, it sends one RPC, and prints an answer on a line of its own.
client_test.go says what they are.
"""

import json
import sys

import grpc

# The health service without its descriptor: the request has no fields, and SERVING is a varint 1 in field 1.
CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"


def ask(channel, question):
    try:
        body, call = channel.unary_unary(CHECK).with_call(
            b"", timeout=question["Seconds"], wait_for_ready=question["Wait"])
    except grpc.RpcError as error:
        return {"Error": f"{error.code()}: {error.details()}"}
    if body != SERVING:
        return {"Error": f"the health check answers {body.hex()}"}
    return {"Backend": dict(call.initial_metadata()).get("backend", "")}


def main():
    channels = {}  # by target
    for line in sys.stdin:
        question = json.loads(line)
        target = question["Target"]
        if target not in channels:
            channels[target] = grpc.insecure_channel(target)
        print(json.dumps(ask(channels[target], question)), flush=True)
    for channel in channels.values():
        channel.close()


main()
