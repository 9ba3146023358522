"""Driver of Opacus: the weights of a linear model after a few private steps on a tiny table."""

import sys

sys.path.append(sys.path.pop(0))  # this file is called as the library is

import torch
from opacus import PrivacyEngine
from serve import serve

torch.set_num_threads(1)


def sgd(noise_multiplier, max_grad_norm, steps, batch):
    """Weights and bias, from a start at zero."""

    def release(data):
        X, y = torch.tensor(data["X"]), torch.tensor(data["y"])
        model = torch.nn.Linear(X.shape[1], 1)
        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), batch_size=batch)
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=loader,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
        )
        done = 0
        while done < steps:
            for rows, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(model(rows)[:, 0], labels).backward()
                optimizer.step()
                done += 1
                if done == steps:
                    break
        return [value for part in model.parameters() for value in part.detach().flatten().tolist()]

    return release


serve("opacus", {"sgd": sgd})
