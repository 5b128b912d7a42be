'use strict';
// A gRPC server for Node whose listener comes from the mesh: its argument is the address, as IP:port. It answers health
// checks until its standard input ends.
const grpc = require('@grpc/grpc-js');
const xds = require('@grpc/grpc-js-xds');

xds.register();

// The health service without its descriptor: the request has no fields, and SERVING is a varint 1 in field 1.
const same = (bytes) => bytes;
const health = {
  Check: {
    path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false,
    requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
  },
};

const server = new xds.XdsServer();
server.addService(health, {
  Check(call, callback) {
    const header = new grpc.Metadata();
    header.set('backend', 'member');
    call.sendMetadata(header);
    callback(null, Buffer.of(0x08, 0x01));
  },
});
const address = process.argv[2];
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), () => {});
server.addServingStateListener(address, (state) => console.error('serving state', state.code, state.details));

process.stdin.on('end', () => process.exit(0)).resume();
