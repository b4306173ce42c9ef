"""The colours of the report's charts: seen on both themes' cards, and told apart by readers who are colour-blind."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

STYLE = (Path(__file__).resolve().parents[2] / "bench/report/page.css").read_text()
LIBRARIES = ("ours", "cusparse", "sputnik", "sgemm", "tf32", "f16", "f16x3")
COLOURS = {
    name: both for name, *both in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", STYLE)
}
THEMES = {"light": 0, "dark": 1}

# How linear RGB is seen without one kind of cone, at full strength: Machado, Oliveira and Fernandes (2009).
SIGHTS = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(colour):
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return linear(colour) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def oklab(rgb):
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    axes = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return axes @ np.cbrt(cones @ np.clip(rgb, 0, 1))


@pytest.mark.parametrize("theme", THEMES)
def test_colours_stand_out_from_the_card(theme):
    shown = {name: both[THEMES[theme]] for name, both in COLOURS.items()}
    for name in LIBRARIES:
        assert contrast(shown[name], shown["card"]) >= 3, name
    for name in ("ink", "soft", "accent", "good", "bad"):
        assert min(contrast(shown[name], shown[ground]) for ground in ("card", "page")) >= 4.5, name


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES)
def test_no_two_libraries_have_colours_that_look_alike(theme, sight):
    seen = {name: oklab(SIGHTS[sight] @ linear(COLOURS[name][THEMES[theme]])) for name in LIBRARIES}
    for one, other in itertools.combinations(LIBRARIES, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.1, (one, other)
