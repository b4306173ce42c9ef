"""A graph convolution network on Cora through vostok: by hand, and as PyTorch Geometric's GCNConv where that is
installed.

    python gnn.py [--graph ../shared/data/graphs/cora.mtx] [--epochs 50] [--tiny]

Without the graph's file a random one of Cora's size is made. Features and labels are made here in both cases: nodes of
a community share a label, so that there is something to learn.
"""

import argparse
from pathlib import Path

import torch
from torch import nn

import vostok.torch as vt

HERE = Path(__file__).resolve()


def find_graph(given):
    """The file: as given, or beside this checkout."""
    near = [parent.parent / "shared" / "data" / "graphs" / "cora.mtx" for parent in HERE.parents]
    return next((path for path in ([Path(given)] if given else near) if path.is_file()), None)


def read_edges(path):
    """Edges [2, count] and the number of nodes, of a Matrix Market file."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("%")]
    nodes = int(lines[0].split()[0])
    pairs = torch.tensor([[int(word) - 1 for word in line.split()[:2]] for line in lines[1:]]).t()
    return pairs, nodes


def random_edges(nodes, degree):
    """As many edges as Cora has, mostly inside of communities."""
    source = torch.randint(nodes, (nodes * degree // 2,))
    near = (source + 7 * torch.randint(1, 30, source.shape)) % nodes
    return torch.stack([source, near]), nodes


def adjacency(edges, nodes):
    """D^-1/2 (A + I) D^-1/2 as a Csr."""
    both = torch.cat([edges, edges.flip(0), torch.arange(nodes).expand(2, -1)], 1).unique(dim=1)
    degree = torch.bincount(both[0], minlength=nodes).float()
    values = (degree[both[0]] * degree[both[1]]).rsqrt()
    return vt.csr(torch.sparse_coo_tensor(both, values, (nodes, nodes), is_coalesced=True)), both


def labels_of(edges, nodes, classes, rounds=10):
    """Communities by majority among neighbours, from a few seeds."""
    scores = nn.functional.one_hot(torch.randint(classes, (nodes,)), classes).float()
    a, _ = adjacency(edges, nodes)
    sparse = torch.sparse_csr_tensor(a.row_offsets, a.column_indices, a.values, a.shape)
    for _ in range(rounds):
        scores = sparse @ scores + 0.1 * scores
    return scores.argmax(1)


class Convolution(nn.Module):
    """A (x W) + b."""

    def __init__(self, a, inputs, outputs):
        super().__init__()
        self.a = a
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return vt.spmm(self.a, self.linear(x))


def geometric(a, edges, inputs, hidden, classes, device):
    """The same network of GCNConv, whose aggregation goes through vt.spmm; None where PyG is not installed."""
    try:
        from torch_geometric.nn import GCNConv
    except ImportError as error:
        print(f"left out: PyTorch Geometric's GCNConv ({error})")
        return None

    class VostokGCNConv(GCNConv):
        def message_and_aggregate(self, adj_t, x):
            return vt.spmm(adj_t, x)

        def propagate(self, edge_index, **operands):
            return self.message_and_aggregate(edge_index, operands["x"])

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = VostokGCNConv(inputs, hidden, normalize=False)
            self.second = VostokGCNConv(hidden, classes, normalize=False)
            self.adj_t = torch.sparse_csr_tensor(a.row_offsets, a.column_indices, a.values, a.shape)

        def forward(self, x):
            return self.second(self.first(x, self.adj_t).relu(), self.adj_t)

    return Network().to(device)


def train(name, model, x, labels, known, epochs):
    """Returns the accuracy on nodes whose labels were not shown."""
    optimizer = torch.optim.Adam(model.parameters(), 2e-2)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x)[known], labels[known])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = float((model(x).argmax(1) == labels)[~known].float().mean())
    print(f"{name}: loss {loss.item():.4f}, accuracy {accuracy:.3f}")
    return accuracy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    path = find_graph(options.graph)
    if options.tiny or path is None:
        print("graph: a random one" + ("" if options.tiny else ", since cora.mtx was not found"))
        edges, nodes = random_edges(150 if options.tiny else 2708, 4)
    else:
        print(f"graph: {path.name}")
        edges, nodes = read_edges(path)
    classes, inputs, hidden = 4, 16, 16
    labels = labels_of(edges, nodes, classes)
    known = torch.rand(nodes) < 0.4
    x = torch.randn(nodes, inputs) + 1.5 * torch.randn(classes, inputs)[labels]
    a, both = adjacency(edges, nodes)
    a = vt.Csr(*(tensor.to(device) for tensor in a[:3]), a.shape)
    print(f"{nodes} nodes, {both.shape[1]} nonzeros, on {device}")
    x, labels, known = x.to(device), labels.to(device), known.to(device)
    model = nn.Sequential(Convolution(a, inputs, hidden), nn.ReLU(), Convolution(a, hidden, classes)).to(device)
    epochs = 8 if options.tiny else options.epochs
    exact = nn.functional.linear(x, model[0].linear.weight, model[0].linear.bias).double()
    difference = (model[0](x).double() - vt.dense(a).double() @ exact).abs().max()
    assert difference < 1e-4, float(difference)
    assert train("GCN by hand", model, x, labels, known, epochs) > 1.0 / classes
    other = geometric(a, both, inputs, hidden, classes, device)
    if other is not None:
        assert train("GCNConv of PyTorch Geometric", other, x, labels, known, epochs) > 1.0 / classes


if __name__ == "__main__":
    main()
