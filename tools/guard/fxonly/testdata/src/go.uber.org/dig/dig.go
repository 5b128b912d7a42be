package dig
