"""From arrival order to time order: late rows, reordering and the watermark."""

from whimbrel.disorder.disorder_metrics import Disorderliness, measure_disorder
from whimbrel.disorder.edge_ingress import EdgeIngress
from whimbrel.disorder.idle_advance import AdvancesWhenIdle
from whimbrel.disorder.ingress import Ingress, watermark_generator_of
from whimbrel.disorder.late_fraction_model import Arrived, MissingFractions
from whimbrel.disorder.low_watermark import LatencyWatermark, LowWatermark
from whimbrel.disorder.sorter import Sorter
from whimbrel.disorder.sorter_sizes import SorterSizes

__all__ = [
           "AdvancesWhenIdle",
           "Arrived",
           "Disorderliness",
           "EdgeIngress",
           "Ingress",
           "LatencyWatermark",
           "LowWatermark",
           "MissingFractions",
           "Sorter",
           "SorterSizes",
           "measure_disorder",
           "watermark_generator_of",
]
