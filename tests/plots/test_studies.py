import numpy as np
import pytest
from scipy.special import logit

import bayescm as bcm

STUDIES = bcm.from_cells(
    tp=[47, 126, 19, 36, 130, 84], fn=[9, 51, 10, 3, 19, 2],
    fp=[101, 272, 12, 78, 211, 68], tn=[738, 1543, 192, 276, 959, 89],
).rename(batch="group").assign_coords(group=[f"study {place}" for place in range(6)])  # fmt: skip


@pytest.mark.long
def test_studies_stand_where_they_were_seen_and_their_summary_inside_both_regions():
    (axes,) = bcm.plots.plot_sroc(STUDIES).axes
    (circles,) = [each for each in axes.collections if len(each.get_offsets()) == 6]
    seen = np.array([bcm.measure(STUDIES, name)[name] for name in ("fpr", "recall")]).T
    np.testing.assert_allclose(circles.get_offsets(), seen)
    center, typical, new, curve = axes.lines
    x, y = center.get_xydata()[0]
    known = (
        bcm.distribution(STUDIES, "recall", model="hierarchical_groups", of="typical").mean().item()
    )
    assert y == pytest.approx(known, abs=0.01)
    extents = [each.get_path().get_extents() for each in (typical, new)]
    assert extents[0].contains(x, y)
    assert extents[1].width > extents[0].width
    ends = bcm.interval(STUDIES, "recall", of="typical", model="hierarchical_groups")
    # The ellipse holds both rates, so it is somewhat longer than the interval of one, but for the
    # error of its ends.
    error = ends.attrs["error"]
    assert extents[0].y0 < ends[0] + error
    assert ends[1] - error < extents[0].y1
    assert (np.diff(curve.get_ydata()) > 0).all()
    assert [curve.get_xdata()[0], curve.get_xdata()[-1]] == [seen[:, 0].min(), seen[:, 0].max()]


@pytest.mark.long
def test_a_wider_region_holds_more():
    narrow, wide = (
        bcm.plots.plot_sroc(STUDIES, prob=prob).axes[0].lines[1] for prob in (0.5, 0.99)
    )
    areas = [np.ptp(logit(each.get_ydata())) for each in (narrow, wide)]
    assert areas[0] < 0.6 * areas[1]


@pytest.mark.long
def test_the_forest_says_what_interval_says():
    figure = bcm.plots.plot_studies(STUDIES, kind="eti")
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == [
        *STUDIES["group"].values,
        "typical study",
        "mean of studies",
        "new study",
    ]
    unnamed = bcm.plots.plot_studies(STUDIES.drop_vars("group")).axes[0]
    assert unnamed.get_yticklabels()[0].get_text() == "study 0"
    alone = bcm.interval(STUDIES.sel(group="study 2", drop=True), "recall", kind="eti")
    single, _ = left.collections
    np.testing.assert_allclose(single.get_segments()[2][:, 0], alone, atol=1e-6)
    mean = bcm.interval(STUDIES, "specificity", kind="eti", of="population")
    _, pooled = right.collections
    np.testing.assert_allclose(pooled.get_segments()[1][:, 0], mean, atol=1e-6)


@pytest.mark.parametrize("plot", [bcm.plots.plot_sroc, bcm.plots.plot_studies])
def test_what_is_no_set_of_studies_is_refused(plot):
    for dim in ("fold", "classifier"):
        with pytest.raises(ValueError, match=r"need one dimension of studies"):
            plot(STUDIES.rename(group=dim))
    many = bcm.from_matrix(np.ones((3, 3, 3), int), dims=("group",))
    with pytest.raises(ValueError, match="Recall and specificity need two classes"):
        plot(many)


@pytest.mark.long
def test_studies_are_called_what_their_dim_is_called():
    sites = STUDIES.rename(group="hospital")
    left, _ = bcm.plots.plot_studies(sites).axes
    labels = [label.get_text() for label in left.get_yticklabels()]
    assert labels[-3:] == ["typical hospital", "mean of hospitals", "new hospital"]
    first = STUDIES.isel(group=0)
    texts = [text.get_text() for text in left.texts]
    assert texts[texts.index("TP") + 1] == f"{int(first[1, 1])}"
    assert texts[texts.index("FN") + 1] == f"{int(first[1, 0])}"
    named = bcm.plots.plot_sroc(STUDIES, display_names={"group": "country"})
    assert "typical country" in [text.get_text() for text in named.axes[0].get_legend().get_texts()]
    assert "countries" in named.get_suptitle()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The sampler may have missed:UserWarning")
def test_a_prior_of_another_family_is_sampled():
    import pymc as pm

    def spread(name):
        return pm.HalfCauchy(name, 0.5, dims="rate")

    assert len(bcm.plots.plot_studies(STUDIES, spread=spread).axes) == 2
    assert len(bcm.plots.plot_sroc(STUDIES, spread=spread).axes) == 1
    table = bcm.meta.heterogeneity(STUDIES, spread=spread)
    direct = bcm.meta.heterogeneity(STUDIES, spread=0.5)
    np.testing.assert_allclose(table["median"][:2], direct["median"][:2], rtol=0.3)


@pytest.mark.long
def test_studies_of_the_ill_alone_have_a_sensitivity_and_no_more():
    ill = bcm.from_cells(tp=[30, 20, 41], fn=[3, 5, 9], fp=0, tn=0).rename(batch="group")
    table = bcm.summary(ill, "sensitivity", of=["typical", "new"])
    assert table["point"].between(0.8, 0.9).all()
    for function in (bcm.plots.plot_sroc, bcm.plots.plot_studies, bcm.meta.heterogeneity):
        with pytest.raises(ValueError, match=r"participants without.*Use sensitivity alone"):
            function(ill)
    well = bcm.from_cells(tp=0, fn=0, fp=[3, 5, 9], tn=[30, 20, 41]).rename(batch="group")
    with pytest.raises(ValueError, match=r"participants with the.*Use specificity alone"):
        bcm.plots.plot_sroc(well)
