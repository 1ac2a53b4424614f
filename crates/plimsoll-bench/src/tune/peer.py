"""SMAC3 and Optuna's TPE as searches over levels. Each line of the input is JSON: {"begin": {method, seed, trials, knobs}}
begins a search, {"cost": number, "failed": bool} is the result of the setting of the line before. Each line of the output is the
next setting with the one that the search would keep: {"setting": [level, ...] or null at its end, "kept": [level, ...]}."""

import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path

import optuna
from ConfigSpace import Categorical, ConfigurationSpace, Integer
from smac import HyperparameterOptimizationFacade, Scenario
from smac.initial_design.sobol_design import SobolInitialDesign
from smac.main.exceptions import ConfigurationSpaceExhaustedException
from smac.model.random_forest.random_forest import RandomForest
from smac.runhistory.dataclasses import TrialValue
from smac.runhistory.enumerations import StatusType


class DefaultFirst(SobolInitialDesign):
    """A Sobol design that begins with the default, as every search here does."""

    def select_configurations(self):
        configurations = super().select_configurations()
        return self._additional_configs + [it for it in configurations if it not in self._additional_configs]


def forest(scenario):
    """The same trees as the facade's, sooner: a tree has no more leaves than trials, for which it reserves memory, and threads
    would wait for each other longer than they compute."""
    return RandomForest(
        log_y=True,
        n_trees=10,
        bootstrapping=True,
        ratio_features=1.0,
        min_samples_split=2,
        min_samples_leaf=1,
        max_depth=2**20,
        max_leaf_nodes=scenario.n_trials + 1,
        n_jobs=1,
        configspace=scenario.configspace,
        seed=scenario.seed,
    )


class Smac:
    """Its facade for hyperparameters, with a surrogate that learns from every trial and not only from every eighth, and with as
    many candidates as our search has, a tenth of its usual ones: a proposal takes a fifth of the time."""

    def __init__(self, knobs, seed, trials):
        self.names = [f"k{place:02}" for place in range(len(knobs))]
        space = ConfigurationSpace(seed=seed)
        for name, knob in zip(self.names, knobs):
            levels = range(knob["levels"])
            if knob["is_ordered"]:
                space.add(Integer(name, (0, levels[-1]), default=knob["default"]))
            else:
                space.add(Categorical(name, list(levels), default=knob["default"]))
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(space, n_trials=trials, seed=seed, output_directory=Path(self.folder.name))
        facade = HyperparameterOptimizationFacade
        default = space.get_default_configuration()
        self.search = facade(
            scenario,
            model=forest(scenario),
            initial_design=DefaultFirst(scenario, additional_configs=[default]),
            # In a small space, it would give up after sixteen settings that it knows.
            config_selector=facade.get_config_selector(scenario, retrain_after=1, retries=1000),
            acquisition_maximizer=facade.get_acquisition_maximizer(scenario, challengers=1000, local_search_iterations=5),
            logging_level=False,
        )
        self.kept_before = [knob["default"] for knob in knobs]

    def propose(self):
        try:
            self.trial = self.search.ask()
        except (StopIteration, ConfigurationSpaceExhaustedException):
            return None
        return self.levels(self.trial.config)

    def learn(self, cost, failed):
        status = StatusType.CRASHED if failed else StatusType.SUCCESS
        self.search.tell(self.trial, TrialValue(cost=cost, status=status), save=False)

    def kept(self):
        incumbent = self.search.intensifier.get_incumbent()
        if incumbent is not None:
            self.kept_before = self.levels(incumbent)
        return self.kept_before

    def levels(self, configuration):
        return [int(configuration[name]) for name in self.names]


class Tpe:
    """Optuna's default sampler."""

    def __init__(self, knobs, seed, trials):
        self.knobs = knobs
        self.search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        default = [knob["default"] for knob in knobs]
        self.search.enqueue_trial({str(place): level for place, level in enumerate(default)})
        self.kept_before = default

    def propose(self):
        self.trial = self.search.ask()
        return [self.suggest(str(place), knob) for place, knob in enumerate(self.knobs)]

    def suggest(self, name, knob):
        if knob["is_ordered"]:
            return self.trial.suggest_int(name, 0, knob["levels"] - 1)
        return self.trial.suggest_categorical(name, list(range(knob["levels"])))

    def learn(self, cost, failed):
        self.search.tell(self.trial, cost)

    def kept(self):
        best = self.search.best_params
        return [best[str(place)] for place in range(len(self.knobs))]


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    methods = {"smac": Smac, "tpe": Tpe}
    search = None
    for line in sys.stdin:
        message = json.loads(line)
        begin = message.get("begin")
        if begin:
            search = methods[begin["method"]](begin["knobs"], begin["seed"], begin["trials"])
            kept = [knob["default"] for knob in begin["knobs"]]
        else:
            search.learn(message["cost"], message["failed"])
            kept = search.kept()
        print(json.dumps({"setting": search.propose(), "kept": kept}), flush=True)


main()
