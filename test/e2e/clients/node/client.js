'use strict';
// A program on gRPC's implementation for Node. For each line on its standard input, a question, it sends one RPC, and
// prints an answer on a line of its own. client_test.go says what they are.
const readline = require('node:readline');
const grpc = require('@grpc/grpc-js');
const xds = require('@grpc/grpc-js-xds');

xds.register();

// The health service without its descriptor: the request has no fields, and SERVING is a varint 1 in field 1.
const check = '/grpc.health.v1.Health/Check';
const request = Buffer.alloc(0);
const serving = Buffer.of(0x08, 0x01);
const same = (bytes) => bytes;

const clients = new Map(); // by target

function clientOf(target) {
  if (!clients.has(target)) {
    clients.set(target, new grpc.Client(target, grpc.credentials.createInsecure()));
  }
  return clients.get(target);
}

function ask({ Target, Wait, Seconds }) {
  return new Promise((resolve) => {
    const answer = { Backend: '', Error: '' };
    const metadata = new grpc.Metadata({ waitForReady: Wait });
    const call = clientOf(Target).makeUnaryRequest(check, same, same, request, metadata, { deadline: Date.now() + 1000 * Seconds }, (error, body) => {
      if (error) {
        answer.Error = error.message;
      } else if (!body.equals(serving)) {
        answer.Error = `the health check answers ${body.toString('hex')}`;
      }
      resolve(answer);
    });
    call.on('metadata', (header) => { answer.Backend = String(header.get('backend')[0] ?? ''); });
  });
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await ask(JSON.parse(line))) + '\n');
  }
  clients.forEach((client) => client.close());
  process.exit(0); // a timer of a resource that does not exist would keep the process for 15 s
}

main();
