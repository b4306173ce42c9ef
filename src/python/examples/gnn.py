"""A graph convolution network on Cora: PyTorch Geometric's GCNConv as it is, the same through vostok, and by hand.

    python gnn.py [--graph ../shared/data/graphs/cora.mtx] [--epochs 200] [--json gnn.json] [--tiny]

Without the graph's file a random one of Cora's size is made. Features and labels are made here in both cases: nodes of
a community share a label, so that there is something to learn. All networks begin with the same weights.
"""

import argparse
import importlib.metadata
from pathlib import Path

import measured
import torch
from torch import nn

import vostok.torch as vt

HERE = Path(__file__).resolve()
REFERENCE = "GCNConv of PyTorch Geometric"
BY_HAND = "GCN by hand"
ALLOWED = 0.02  # accuracies may differ by this: a node at the border goes either way
CLASSES, INPUTS, HIDDEN = 4, 16, 16


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
        return vt.spmm(self.a, self.linear.weight.matmul(x.mT).mT) + self.linear.bias


class Network(nn.Module):
    """Two convolutions, each called with x and what it is given beside."""

    def __init__(self, first, second, *graph):
        super().__init__()
        self.first, self.second, self.graph = first, second, graph

    def forward(self, x):
        return self.second(self.first(x, *self.graph).relu(), *self.graph)


def geometric(a, edges):
    """Networks of GCNConv by name: as it is, with edges or a torch.sparse matrix, and one whose aggregation goes
    through vt.spmm. None of them where PyG is not installed."""
    try:
        from torch_geometric.nn import GCNConv
    except ImportError as error:
        print(f"left out: PyTorch Geometric's GCNConv ({error})")
        return {}

    class VostokGCNConv(GCNConv):
        def propagate(self, edge_index, **operands):
            return vt.spmm(edge_index, operands["x"])

    def network(layer, *graph):
        return Network(layer(INPUTS, HIDDEN, normalize=False), layer(HIDDEN, CLASSES, normalize=False), *graph)

    matrix = torch.sparse_csr_tensor(a.row_offsets, a.column_indices, a.values, a.shape)
    return {
        REFERENCE: network(GCNConv, edges.flip(0), a.values),  # messages go from the first row's nodes to the second's
        "GCNConv of PyTorch Geometric, torch.sparse": network(GCNConv, matrix),
        "GCNConv through vt.spmm": network(VostokGCNConv, matrix),
    }


def version_of_geometric():
    """PyG's, None where it is not installed."""
    try:
        return importlib.metadata.version("torch_geometric")
    except importlib.metadata.PackageNotFoundError:
        return None


def same_weights(model, other):
    """Gives a network the weights of another one, whatever their names are."""
    with torch.no_grad():
        for shape in sorted({tuple(parameter.shape) for parameter in model.parameters()}):
            mine, theirs = (
                [parameter for parameter in network.parameters() if tuple(parameter.shape) == shape]
                for network in (model, other)
            )
            for parameter, source in zip(mine, theirs, strict=True):
                parameter.copy_(source)


def train(name, model, data, epochs, device, progress):
    """A row: time an epoch, the last loss, and the accuracy on nodes whose labels were not shown."""
    x, labels, known = data
    optimizer = torch.optim.Adam(model.parameters(), 2e-2)
    times = []
    for _ in range(epochs):
        with measured.timed(times, device):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x)[known], labels[known])
            loss.backward()
            optimizer.step()
        progress.step(name)
    with torch.no_grad():
        accuracy = float((model(x).argmax(1) == labels)[~known].float().mean())
    epoch = measured.summary(times[len(times) // 5 :])  # the first ones plan and compile
    print(f"{name}: loss {loss.item():.4f}, accuracy {accuracy:.3f}, {epoch['median_us'] / 1e3:.2f} ms an epoch")
    return {"name": name} | epoch | {"accuracy": accuracy, "loss": loss.item(), "clocks": measured.clocks()}


def compared(row, rows):
    """The row with what its accuracy is held to: that of the first row."""
    row["tolerance"] = ALLOWED
    row["error"] = abs(row["accuracy"] - (rows or [row])[0]["accuracy"])
    row["verified"] = row["error"] <= ALLOWED and row["accuracy"] > 1.0 / CLASSES
    return row


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    measured.add_options(parser)
    return parser.parse_args()


def make_data(options, device):
    """The matrix, its edges, (features, labels, which labels are known) and what the graph is called."""
    path = find_graph(options.graph)
    if options.tiny or path is None:
        print("graph: a random one" + ("" if options.tiny else ", since cora.mtx was not found"))
        edges, nodes = random_edges(150 if options.tiny else 2708, 4)
    else:
        print(f"graph: {path.name}")
        edges, nodes = read_edges(path)
    labels = labels_of(edges, nodes, CLASSES)
    known = torch.rand(nodes) < 0.4
    x = torch.randn(nodes, INPUTS) + 1.5 * torch.randn(CLASSES, INPUTS)[labels]
    a, both = adjacency(edges, nodes)
    a = vt.Csr(*(tensor.to(device) for tensor in a[:3]), a.shape)
    name = "random" if options.tiny or path is None else path.stem
    return a, both.to(device), (x.to(device), labels.to(device), known.to(device)), name


def main():
    options = parse()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    a, both, data, name = make_data(options, device)
    nodes, nonzeros = a.shape[0], both.shape[1]
    print(f"{nodes} nodes, {nonzeros} nonzeros, on {device}")
    with measured.poisoned(), torch.no_grad():
        wide = torch.randn(nodes, HIDDEN, device=device)
        difference = (vt.spmm(a, wide).double() - vt.dense(a).double() @ wide.double()).abs().max()
    assert difference < 1e-4, float(difference)
    first = Network(Convolution(a, INPUTS, HIDDEN), Convolution(a, HIDDEN, CLASSES)).to(device)
    models = geometric(a, both) | {BY_HAND: first}
    for model in models.values():
        same_weights(model.to(device), first)
    epochs = 8 if options.tiny else options.epochs
    problem = {"graph": name, "nodes": nodes, "nonzeros": nonzeros, "element": "f32", "epochs": epochs}
    results = measured.Results("gnn", options, problem, torch_geometric=version_of_geometric())
    progress = measured.Progress(epochs * len(models), options.seconds)
    try:
        for name, model in models.items():
            results.add(compared(train(name, model, data, epochs, device, progress), results.whole["rows"]))
        results.finish()
    except measured.OutOfTime as end:
        print(f"stopped early: {end}")
    rows = results.whole["rows"]
    wrong = [row["name"] for row in rows if not row["verified"]]
    assert not wrong, f"accuracies that are not those of {rows[0]['name']}: {wrong}"


if __name__ == "__main__":
    main()
