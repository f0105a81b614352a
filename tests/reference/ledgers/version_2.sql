BEGIN TRANSACTION;
CREATE TABLE bayescm_acknowledgements (
    classifier TEXT NOT NULL, number BIGINT NOT NULL, batch_id TEXT NOT NULL, rule TEXT NOT NULL,
    measure TEXT NOT NULL, note TEXT NOT NULL, recorded_at TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (classifier, number), UNIQUE (classifier, batch_id, rule, measure),
    FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier));
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',1,'day 3','change','answers','new camera; see ''ticket 12''','2026-11-22T11:11:04.470238Z','2dc9b249c038c1ab5b6a37b2db5dd489');
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',2,'day 3','batch','recall','new camera; see ''ticket 12''','2026-11-22T11:11:04.470238Z','3cba81b3e22423606639bfa7e714278c');
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',3,'day 3','batch','accuracy','new camera; see ''ticket 12''','2026-11-22T11:11:04.470238Z','a0a9fc65feee0041bffb6dc0ca1f11b4');
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',4,'day 3','batch','f1','new camera; see ''ticket 12''','2026-11-22T11:11:04.470238Z','ba862b3c72384e0510eb97b6e97f257f');
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',5,'day 4','batch','recall','new camera; see ''ticket 12''','2026-11-22T11:11:04.470238Z','a5e96d3764be160df6a683d182887d3c');
INSERT INTO "bayescm_acknowledgements" VALUES('spam filter',6,'day 4','batch','f1','new camera; see ''ticket 12''','2026-11-22T11:11:04.470238Z','867adf7b30554c64482c2bd0340cadd2');
CREATE TABLE bayescm_batches (
    classifier TEXT NOT NULL, entry BIGINT NOT NULL, batch_id TEXT NOT NULL, at TEXT NOT NULL,
    cells TEXT NOT NULL, corrects TEXT, recorded_at TEXT NOT NULL, total TEXT, batches BIGINT, latest TEXT, hash TEXT,
    PRIMARY KEY (classifier, entry), UNIQUE (classifier, batch_id), UNIQUE (classifier, corrects),
    FOREIGN KEY(classifier) REFERENCES bayescm_classifiers (classifier));
INSERT INTO "bayescm_batches" VALUES('spam filter',1,'day 0','2026-01-01T00:00:00.000000Z','[[45, 5], [5, 45]]',NULL,'2026-11-22T11:11:03.196566Z','[[45, 5], [5, 45]]',1,'2026-01-01T00:00:00.000000Z','2a726c4495960c3bb863f206addeaeff');
INSERT INTO "bayescm_batches" VALUES('spam filter',2,'day 1','2026-01-02T00:00:00.000000Z','[[45, 5], [6, 44]]',NULL,'2026-11-22T11:11:03.226473Z','[[90, 10], [11, 89]]',2,'2026-01-02T00:00:00.000000Z','2c0530b2b16b6702890ade5b3ae15cc8');
INSERT INTO "bayescm_batches" VALUES('spam filter',3,'day 2','2026-01-03T00:00:00.000000Z','[[45, 5], [4, 46]]',NULL,'2026-11-22T11:11:03.250700Z','[[135, 15], [15, 135]]',3,'2026-01-03T00:00:00.000000Z','0930bece449511841db03ebf645b1436');
INSERT INTO "bayescm_batches" VALUES('spam filter',4,'day 3','2026-01-04T00:00:00.000000Z','[[45, 5], [30, 20]]',NULL,'2026-11-22T11:11:03.274159Z','[[180, 20], [45, 155]]',4,'2026-01-04T00:00:00.000000Z','765021515a01de2a3af82fe00951c4a2');
INSERT INTO "bayescm_batches" VALUES('spam filter',5,'day 4','2026-01-05T00:00:00.000000Z','[[45, 5], [32, 18]]',NULL,'2026-11-22T11:11:03.294167Z','[[225, 25], [77, 173]]',5,'2026-01-05T00:00:00.000000Z','1b148c727f87b32fa7937560d79a48d4');
INSERT INTO "bayescm_batches" VALUES('spam filter',6,'day 5','2026-01-06T00:00:00.000000Z','[[45, 5], [28, 22]]',NULL,'2026-11-22T11:11:03.318209Z','[[270, 30], [105, 195]]',6,'2026-01-06T00:00:00.000000Z','0d1cfa9befef37d5e05a463ce96df57b');
INSERT INTO "bayescm_batches" VALUES('spam filter',7,'day 2 again','2026-01-03T00:00:00.000000Z','[[45, 5], [7, 43]]','day 2','2026-11-22T11:11:03.339609Z','[[270, 30], [108, 192]]',6,'2026-01-06T00:00:00.000000Z','bbd3402450d69f82a69529ae5d32b496');
INSERT INTO "bayescm_batches" VALUES('animals שלום',1,'1','2026-02-01T00:00:00.000000Z','[[9, 1, 0], [2, 8, 1], [0, 1, 9]]',NULL,'2026-11-22T11:11:04.525833Z','[[9, 1, 0], [2, 8, 1], [0, 1, 9]]',1,'2026-02-01T00:00:00.000000Z','e57841e12b81f44ef9f7a1f0fc60a83d');
CREATE TABLE bayescm_classifiers (
    classifier TEXT NOT NULL, labels TEXT NOT NULL, PRIMARY KEY (classifier));
INSERT INTO "bayescm_classifiers" VALUES('spam filter','{"labels": ["negative", "positive"], "positive": "positive"}');
INSERT INTO "bayescm_classifiers" VALUES('animals שלום','{"labels": ["a", "b", "c"], "positive": null}');
CREATE TABLE bayescm_schema (version INTEGER NOT NULL, seal TEXT, PRIMARY KEY (version));
INSERT INTO "bayescm_schema" VALUES(1,NULL);
INSERT INTO "bayescm_schema" VALUES(2,'48124c56df6f61541903081748e314b1');
CREATE TRIGGER bayescm_schema_no_update BEFORE UPDATE ON bayescm_schema BEGIN SELECT RAISE(ABORT, 'bayescm_schema is append-only'); END;
CREATE TRIGGER bayescm_schema_no_delete BEFORE DELETE ON bayescm_schema BEGIN SELECT RAISE(ABORT, 'bayescm_schema is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_update BEFORE UPDATE ON bayescm_classifiers BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_delete BEFORE DELETE ON bayescm_classifiers BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE INDEX bayescm_hashes ON bayescm_batches (classifier, entry, hash);
CREATE TRIGGER bayescm_batches_no_update BEFORE UPDATE ON bayescm_batches BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE TRIGGER bayescm_batches_no_delete BEFORE DELETE ON bayescm_batches BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE TRIGGER bayescm_acknowledgements_no_update BEFORE UPDATE ON bayescm_acknowledgements BEGIN SELECT RAISE(ABORT, 'bayescm_acknowledgements is append-only'); END;
CREATE TRIGGER bayescm_acknowledgements_no_delete BEFORE DELETE ON bayescm_acknowledgements BEGIN SELECT RAISE(ABORT, 'bayescm_acknowledgements is append-only'); END;
CREATE TRIGGER bayescm_schema_no_replace BEFORE INSERT ON bayescm_schema WHEN EXISTS (SELECT 1 FROM bayescm_schema WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_schema WHERE version = NEW.version) BEGIN SELECT RAISE(ABORT, 'bayescm_schema is append-only'); END;
CREATE TRIGGER bayescm_classifiers_no_replace BEFORE INSERT ON bayescm_classifiers WHEN EXISTS (SELECT 1 FROM bayescm_classifiers WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_classifiers WHERE classifier = NEW.classifier) BEGIN SELECT RAISE(ABORT, 'bayescm_classifiers is append-only'); END;
CREATE TRIGGER bayescm_batches_no_replace BEFORE INSERT ON bayescm_batches WHEN EXISTS (SELECT 1 FROM bayescm_batches WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_batches WHERE classifier = NEW.classifier AND entry = NEW.entry) OR EXISTS (SELECT 1 FROM bayescm_batches WHERE classifier = NEW.classifier AND batch_id = NEW.batch_id) OR EXISTS (SELECT 1 FROM bayescm_batches WHERE classifier = NEW.classifier AND corrects = NEW.corrects) BEGIN SELECT RAISE(ABORT, 'bayescm_batches is append-only'); END;
CREATE TRIGGER bayescm_acknowledgements_no_replace BEFORE INSERT ON bayescm_acknowledgements WHEN EXISTS (SELECT 1 FROM bayescm_acknowledgements WHERE rowid = NEW.rowid) OR EXISTS (SELECT 1 FROM bayescm_acknowledgements WHERE classifier = NEW.classifier AND number = NEW.number) OR EXISTS (SELECT 1 FROM bayescm_acknowledgements WHERE classifier = NEW.classifier AND batch_id = NEW.batch_id AND rule = NEW.rule AND measure = NEW.measure) BEGIN SELECT RAISE(ABORT, 'bayescm_acknowledgements is append-only'); END;
COMMIT;
